import { createStore, type Store } from "../../../src/client/live/store.ts";

/** A store whose value a test sets. Its listeners are called at the end of the tick. */
export function valueStore<T extends NonNullable<unknown>>(
  value: T,
  open: () => () => void,
): readonly [store: Store<T>, set: (value: T) => Promise<void>] {
  const [store, change] = createStore(() => value, open);
  return [store, async (next) => {
    value = next;
    change();
    await new Promise((resolve) => setTimeout(resolve));
  }];
}
