import { closeSpare, mayOpenSpare, openSpare } from "../runtime/spare_descriptors.ts";

/**
 * File descriptors that are held so that they can be let go when the process has run out of them,
 * which any client can cause by connections that stay open.
 */
export interface ReservedDescriptors {
  /** How many it holds when it is full; 0 where the process cannot hold any. */
  readonly size: number;
  /** Closes them: as many can be opened now. */
  release(): void;
  /** Takes them again, if as many more are free; gives whether they are held. */
  take(): boolean;
}

/** Holds a few descriptors, or none where the process may not open the null device. */
export function holdDescriptors(): ReservedDescriptors {
  if (!mayOpenSpare()) return noReserve;
  let held: readonly number[] = [];
  // A process with a low limit keeps fewer.
  const size = sizes.find((count) => {
    held = takeHalfOf(2 * count);
    return held.length > 0;
  });
  if (size === undefined) return noReserve;
  return {
    size,
    release() {
      closeSpare(held);
      held = [];
    },
    take() {
      if (held.length === 0) held = takeHalfOf(2 * size);
      return held.length > 0;
    },
  };
}

const sizes: readonly number[] = [128, 64, 32, 16, 8];

const noReserve: ReservedDescriptors = { size: 0, release() {}, take: () => true };

/** Half of so many descriptors; none where not all of them are free. */
function takeHalfOf(count: number): readonly number[] {
  const opened = openSpare(count) ?? [];
  closeSpare(opened.slice(count / 2));
  return opened.slice(0, count / 2);
}
