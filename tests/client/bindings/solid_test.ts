import { assertEquals } from "@std/assert";
import { bundledPage } from "../support/bundled_page.ts";
import { useLive } from "../../../src/client/bindings/solid.ts";
import { createStore } from "../../../src/client/live/store.ts";

/** Outside of a browser the package of Solid has no reactivity, so that a bundle for one is made. */
const program = `
  import { createRoot, createEffect } from "solid-js";
  import { useLive } from "/src/client/bindings/solid.ts";
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
}

Deno.test("a signal of Solid follows a store until its owner is disposed of", async () => {
  const script = await bundledPage(program);
  const { follow }: Program = await import(`data:text/javascript,${encodeURIComponent(script)}`);
  let isOpen = false;
  const [store, set] = createStore("first", () => {
    isOpen = true;
    return () => void (isOpen = false);
  });
  const shown: string[] = [];
  const dispose = follow(store, (value) => shown.push(value));
  assertEquals(isOpen, true);
  set("second");
  dispose();
  assertEquals(isOpen, false);
  set("third");
  assertEquals(shown, ["first", "second"]);
});

Deno.test("Solid has what a store has in a server, and does not listen there", () => {
  let opened = 0;
  const [store] = createStore("first", () => {
    opened++;
    return () => {};
  });
  assertEquals(useLive(store)(), "first");
  assertEquals(opened, 0);
});
