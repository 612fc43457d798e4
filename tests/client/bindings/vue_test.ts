import { assertEquals } from "@std/assert";
import { createSSRApp, effectScope, h, nextTick, shallowRef, watchEffect } from "vue";
import { renderToString } from "vue/server-renderer";
import { liveAggregate, rsql } from "../../../exports/client.ts";
import { useLive, useLiveAggregate, useLiveList } from "../../../src/client/bindings/vue.ts";
import { eventually, withPostsPage } from "../support/posts_page.ts";
import { valueStore } from "../support/value_store.ts";

Deno.test("a ref of Vue follows a store until its scope ends", async () => {
  let isOpen = false;
  const [store, set] = valueStore("first", () => {
    isOpen = true;
    return () => void (isOpen = false);
  });
  const shown: string[] = [];
  const scope = effectScope();
  scope.run(() => {
    const ref = useLive(store);
    watchEffect(() => void shown.push(ref.value));
  });
  await nextTick();
  assertEquals(isOpen, true);
  await set("second");
  await nextTick();
  scope.stop();
  assertEquals(isOpen, false);
  await set("third");
  await nextTick();
  assertEquals(shown, ["first", "second"]);
});

Deno.test("Vue renders what a store has in a server, and does not listen there", async () => {
  let opened = 0;
  const [store] = valueStore("first", () => {
    opened++;
    return () => {};
  });
  const app = createSSRApp({
    setup() {
      const ref = useLive(store);
      return () => h("p", ref.value);
    },
  });
  assertEquals(await renderToString(app), "<p>first</p>");
  assertEquals(opened, 0);
});

Deno.test("a list of Vue changes with the meaning of its query only, and keeps the old rows", () =>
  withPostsPage(async ({ api }) => {
    const max = shallowRef({ id: 1 });
    const shown: string[] = [];
    const scope = effectScope();
    scope.run(() => {
      const state = useLiveList(api.posts, () => ({
        ...{ filter: rsql`id<=${max.value.id}`, orderBy: ["-id"], keepPreviousData: true },
      }));
      const count = useLive(() => liveAggregate(api.posts, { filter: `id<=${max.value.id}` }));
      const total = useLiveAggregate(api.posts, () => ({
        ...{ filter: `id<=${max.value.id}`, count: true, keepPreviousData: true },
      }));
      void (() => useLiveAggregate(api.posts, { max: ["title"] }).value.groups[0]?.max.title);
      // @ts-expect-error: there is no field `titel`.
      void (() => useLiveAggregate(api.posts, { groupBy: ["titel"] }));
      watchEffect(() => {
        const { items, status } = state.value;
        const counts = [count.value.groups.length, total.value.groups[0]?.count];
        shown.push(`${status} ${items.map(({ title }) => title)} ${counts}`);
      });
    });
    await eventually(() => shown.at(-1) === "live t1 1,1", () => shown);
    max.value = { id: 2 };
    await eventually(() => shown.at(-1) === "live t2,t1 1,2", () => shown);
    const changes = shown.slice(shown.indexOf("live t1 1,1"));
    assertEquals(changes.filter((text) => text.startsWith("connecting  ")), []);
    scope.stop();
  }));
