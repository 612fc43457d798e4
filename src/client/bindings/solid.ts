import { type Accessor, createSignal, onCleanup, onMount } from "solid-js";
import type { Store } from "../live/store.ts";

/** What a live list or aggregate shows, as a signal of Solid: until its owner is disposed of. */
export function useLive<T>(store: Store<T>): Accessor<T> {
  const [value, set] = createSignal(store.get());
  // Not at once, so that a server that renders the page opens no stream.
  onMount(() => onCleanup(store.subscribe((next) => set(() => next))));
  return value;
}
