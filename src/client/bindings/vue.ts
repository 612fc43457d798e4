import { onScopeDispose, type ShallowRef, shallowRef } from "vue";
import type { Store } from "../live/store.ts";

/** What a live list or aggregate shows, as a ref of Vue: until its component or scope ends. */
export function useLive<T>(store: Store<T>): Readonly<ShallowRef<T>> {
  const ref = shallowRef(store.get());
  onScopeDispose(store.subscribe((value) => ref.value = value));
  return ref;
}
