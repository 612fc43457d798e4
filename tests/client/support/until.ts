import type { Store } from "../../../src/client/live/store.ts";

/** Waits until what a store shows is right; fails with what it shows after ten seconds. */
export function until<T>(store: Store<T>, isRight: (value: T) => boolean): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      end();
      reject(new Error(`Not in time: ${Deno.inspect(store.get(), { depth: 6 })}`));
    }, 10_000);
    const end = store.subscribe((value) => {
      if (!isRight(value)) return;
      clearTimeout(timer);
      // Not before `subscribe` has returned what ends it.
      queueMicrotask(() => end());
      resolve(value);
    });
  });
}
