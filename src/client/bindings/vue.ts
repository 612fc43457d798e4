import { type ShallowRef, shallowRef, watchEffect } from "vue";
import type { Store } from "../live/store.ts";

/** Returns a Vue ref of a live list or aggregate. It is updated until its effect scope ends. */
export function useLive<T>(store: Store<T>): Readonly<ShallowRef<T>> {
  const ref = shallowRef(store.get());
  // With `flush: "post"`, Vue skips the effect during server-side rendering and opens no stream.
  watchEffect((onEnd) => onEnd(store.subscribe((value) => ref.value = value)), { flush: "post" });
  return ref;
}
