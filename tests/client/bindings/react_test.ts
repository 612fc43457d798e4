import { assertEquals } from "@std/assert";
import { Window } from "happy-dom";
import { act, createElement, StrictMode } from "react";
import { renderToString } from "react-dom/server";
import { useLive } from "../../../src/client/bindings/react.ts";
import { valueStore } from "../support/value_store.ts";

/** A store of a text, and whether something listens to it. */
function watchedStore(value: string) {
  const state = { isOpen: false };
  const [store, set] = valueStore(value, () => {
    state.isOpen = true;
    return () => void (state.isOpen = false);
  });
  return { store, set, state };
}

Deno.test("React renders what a store has in a server, and does not listen there", () => {
  const { store, state } = watchedStore("first");
  const Shown = () => createElement("p", null, useLive(store));
  assertEquals(renderToString(createElement(Shown)), "<p>first</p>");
  assertEquals(state.isOpen, false);
});

Deno.test("a component of React follows a store from its mounting to its unmounting", async () => {
  const window = new Window();
  // React looks for a browser when it is loaded, and for this flag before `act`.
  Object.assign(globalThis, {
    window,
    document: window.document,
    IS_REACT_ACT_ENVIRONMENT: true,
  });
  const { createRoot } = await import("react-dom/client");
  const { store, set, state } = watchedStore("first");
  let renders = 0;
  const Shown = () => {
    renders++;
    return createElement("p", null, useLive(store));
  };
  const element = window.document.createElement("div");
  // The element is that of happy-dom, which has what React uses of one.
  const root = createRoot(element as unknown as Parameters<typeof createRoot>[0]);
  await act(() => root.render(createElement(StrictMode, null, createElement(Shown))));
  assertEquals(element.innerHTML, "<p>first</p>");
  const before = renders;
  await act(() => set("second"));
  assertEquals(element.innerHTML, "<p>second</p>");
  assertEquals(renders - before, 2, "one rendering, which strict mode repeats");
  await act(() => root.unmount());
  assertEquals(state.isOpen, false);
  await window.happyDOM.close();
});
