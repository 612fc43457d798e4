import { assertEquals } from "@std/assert";
import { computed, effect, signal } from "@preact/signals-core";
import { derived, get, writable } from "svelte/store";
import { liveList, type LiveListState, rsql } from "../../../exports/client.ts";
import type { Post } from "../outbox/outbox_support.ts";
import { eventually, withPostsPage } from "../support/posts_page.ts";
import { valueStore } from "../support/value_store.ts";

Deno.test("a store of the client is a store of Svelte", async () => {
  let isOpen = false;
  const [store, set] = valueStore({ items: ["a"] }, () => {
    isOpen = true;
    return () => void (isOpen = false);
  });
  assertEquals(get(store), { items: ["a"] });
  assertEquals(isOpen, false, "reading it ends with the reading");
  const count = derived(store, ({ items }) => items.length);
  const shown: number[] = [];
  const end = count.subscribe((value) => shown.push(value));
  await set({ items: ["a", "b"] });
  end();
  assertEquals([shown, isOpen], [[1, 2], false]);
});

Deno.test("a signal of Preact follows a store, as the document says", async () => {
  const [list, set] = valueStore({ items: ["a"] }, () => () => {});
  const state = signal(list.get());
  const end = list.subscribe((value) => void (state.value = value));
  const count = computed(() => state.value.items.length);
  const shown: number[] = [];
  effect(() => void shown.push(count.value));
  await set({ items: ["a", "b"] });
  end();
  await set({ items: [] });
  assertEquals(shown, [1, 2]);
});

Deno.test("a list of Svelte follows a parameter, and keeps the old rows, as the document says", () =>
  withPostsPage(async ({ api }) => {
    const max = writable(1);
    const posts = derived<typeof max, LiveListState<Post> | undefined>(
      max,
      (id, set) =>
        liveList(api.posts, { filter: rsql`id<=${id}` }).subscribe((state) => {
          if (state.status !== "connecting") set(state);
        }),
    );
    const shown: string[] = [];
    const end = posts.subscribe((state) => shown.push(`${state?.items.map(({ id }) => id)}`));
    await eventually(() => shown.at(-1) === "1", () => shown);
    max.set(2);
    await eventually(() => shown.at(-1) === "1,2", () => shown);
    assertEquals(shown, ["undefined", "1", "1,2"]);
    end();
  }));
