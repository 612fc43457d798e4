import { assertEquals } from "@std/assert";
import { bundledPage } from "../support/bundled_page.ts";
import { useLive } from "../../../src/client/bindings/solid.ts";
import { eventually, type PostsPage, withPostsPage } from "../support/posts_page.ts";
import { valueStore } from "../support/value_store.ts";

/** Outside of a browser the package of Solid has no reactivity, so that a bundle for one is made. */
const program = `
  import { createRoot, createEffect, createSignal } from "solid-js";
  import { liveAggregate } from "/exports/client.ts";
  import { useLive, useLiveAggregate, useLiveList } from "/src/client/bindings/solid.ts";
  export function followQuery(api, query, show) {
    return createRoot((dispose) => {
      const [value, set] = createSignal(query);
      const state = useLiveList(api.posts, () => ({ ...value(), keepPreviousData: true }));
      const count = useLive(() => liveAggregate(api.posts, { ...value(), count: true }));
      const total = useLiveAggregate(api.posts, () => ({ ...value(), keepPreviousData: true }));
      createEffect(() => {
        const { items, status } = state();
        const counts = [count().groups[0]?.count, total().groups[0]?.count];
        show(\`\${status} \${items.map(({ title }) => title)} \${counts}\`);
      });
      return { dispose, set };
    });
  }
  export function follow(store, show) {
    return createRoot((dispose) => {
      const value = useLive(store);
      createEffect(() => show(value()));
      return dispose;
    });
  }
`;

interface Program {
  follow(store: unknown, show: (value: string) => void): () => void;
  followQuery(
    api: PostsPage["api"],
    query: object,
    show: (value: string) => void,
  ): { dispose(): void; set(query: object): void };
}

const script = await bundledPage(program);
const { follow, followQuery }: Program = await import(
  `data:text/javascript,${encodeURIComponent(script)}`
);

Deno.test("a signal of Solid follows a store until its owner is disposed of", async () => {
  let isOpen = false;
  const [store, set] = valueStore("first", () => {
    isOpen = true;
    return () => void (isOpen = false);
  });
  const shown: string[] = [];
  const dispose = follow(store, (value) => shown.push(value));
  assertEquals(isOpen, true);
  await set("second");
  dispose();
  assertEquals(isOpen, false);
  await set("third");
  assertEquals(shown, ["first", "second"]);
});

Deno.test("Solid has what a store has in a server, and does not listen there", () => {
  let opened = 0;
  const [store] = valueStore("first", () => {
    opened++;
    return () => {};
  });
  assertEquals(useLive(store)(), "first");
  assertEquals(opened, 0);
});

Deno.test("a list of Solid changes with the meaning of its query only, and keeps the old rows", () =>
  withPostsPage(async ({ api }) => {
    const shown: string[] = [];
    const { dispose, set } = followQuery(api, { filter: "id<=1" }, (text) => shown.push(text));
    await eventually(() => shown.at(-1) === "live t1 1,1", () => shown);
    set({ filter: "id<=2" });
    await eventually(() => shown.at(-1) === "live t1,t2 2,2", () => shown);
    assertEquals(shown.filter((text) => text === "connecting  ,").length, 1, `${shown}`);
    dispose();
  }));
