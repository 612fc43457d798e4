import { type ShallowRef, shallowRef, watchEffect } from "vue";
import type { Store } from "../live/store.ts";

/** Returns the value of a live list or aggregate as a Vue ref, until its scope ends. */
export function useLive<T>(store: Store<T>): Readonly<ShallowRef<T>> {
  const ref = shallowRef(store.get());
  // Vue skips effects with this flush during server-side rendering, which opens no stream.
  watchEffect((onEnd) => onEnd(store.subscribe((value) => ref.value = value)), { flush: "post" });
  return ref;
}
