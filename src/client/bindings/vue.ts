import { type ShallowRef, shallowRef, watchEffect } from "vue";
import type { Store } from "../live/store.ts";

/** What a live list or aggregate shows, as a ref of Vue: until its component or scope ends. */
export function useLive<T>(store: Store<T>): Readonly<ShallowRef<T>> {
  const ref = shallowRef(store.get());
  // Effects with this flush do not run in a server that renders the page: it opens no stream.
  watchEffect((onEnd) => onEnd(store.subscribe((value) => ref.value = value)), { flush: "post" });
  return ref;
}
