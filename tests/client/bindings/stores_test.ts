import { assertEquals } from "@std/assert";
import { computed, effect, signal } from "@preact/signals-core";
import { derived, get } from "svelte/store";
import { createStore } from "../../../src/client/live/store.ts";

Deno.test("a store of the client is a store of Svelte", () => {
  let isOpen = false;
  const [store, set] = createStore({ items: ["a"] }, () => {
    isOpen = true;
    return () => void (isOpen = false);
  });
  assertEquals(get(store), { items: ["a"] });
  assertEquals(isOpen, false, "reading it ends with the reading");
  const count = derived(store, ({ items }) => items.length);
  const shown: number[] = [];
  const end = count.subscribe((value) => shown.push(value));
  set({ items: ["a", "b"] });
  end();
  assertEquals([shown, isOpen], [[1, 2], false]);
});

Deno.test("a signal of Preact follows a store, as the document says", () => {
  const [list, set] = createStore({ items: ["a"] }, () => () => {});
  const state = signal(list.get());
  const end = list.subscribe((value) => void (state.value = value));
  const count = computed(() => state.value.items.length);
  const shown: number[] = [];
  effect(() => void shown.push(count.value));
  set({ items: ["a", "b"] });
  end();
  set({ items: [] });
  assertEquals(shown, [1, 2]);
});
