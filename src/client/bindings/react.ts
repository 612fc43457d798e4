// @ts-types="@types/react"
import { useSyncExternalStore } from "react";
import type { Store } from "../live/store.ts";

/** Returns the value of a live list or aggregate in React: `const { items } = useLive(list)`. */
export function useLive<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get, store.get);
}
