import { assertEquals } from "@std/assert";
import { createSSRApp, effectScope, h, nextTick, watchEffect } from "vue";
import { renderToString } from "vue/server-renderer";
import { useLive } from "../../../src/client/bindings/vue.ts";
import { createStore } from "../../../src/client/live/store.ts";

Deno.test("a ref of Vue follows a store until its scope ends", async () => {
  let isOpen = false;
  const [store, set] = createStore("first", () => {
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
  set("second");
  await nextTick();
  scope.stop();
  assertEquals(isOpen, false);
  set("third");
  await nextTick();
  assertEquals(shown, ["first", "second"]);
});

Deno.test("Vue renders what a store has in a server, and does not listen there", async () => {
  let opened = 0;
  const [store] = createStore("first", () => {
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
