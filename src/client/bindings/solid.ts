import { type Accessor, createSignal, onCleanup, onMount } from "solid-js";
import type { Store } from "../live/store.ts";

/** Returns the value of a live list or aggregate as a Solid signal, until its owner is disposed. */
export function useLive<T>(store: Store<T>): Accessor<T> {
  const [value, set] = createSignal(store.get());
  // The subscription starts after mounting, so that server-side rendering opens no stream.
  onMount(() => onCleanup(store.subscribe((next) => set(() => next))));
  return value;
}
