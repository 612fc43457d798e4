import {
  closeSpareDescriptors,
  mayOpenNullDevice,
  openSpareDescriptors,
} from "../runtime/spare_descriptors.ts";

/**
 * A reserve of file descriptors, which is released when the process has no other descriptors left.
 * Any client can exhaust the descriptors with idle connections.
 */
export interface ReservedDescriptors {
  /** Number of descriptors when the reserve is full; 0 if the process cannot hold any. */
  readonly size: number;
  /** Closes the reserved descriptors, so that the process can open as many other descriptors. */
  release(): void;
  /** Reserves the descriptors again if twice as many are free. Returns true on success. */
  take(): boolean;
}

/** Holds a few descriptors, or none if the process may not open the null device. */
export function reserveDescriptors(): ReservedDescriptors {
  if (!mayOpenNullDevice()) return noReserve;
  let held: readonly number[] = [];
  // A process with a low limit reserves fewer descriptors.
  const size = sizes.find((count) => {
    held = takeHalfOf(2 * count);
    return held.length > 0;
  });
  if (size === undefined) return noReserve;
  return {
    size,
    release() {
      closeSpareDescriptors(held);
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

/** Opens this number of descriptors and keeps half of them. Keeps none if not all can be opened. */
function takeHalfOf(count: number): readonly number[] {
  const opened = openSpareDescriptors(count) ?? [];
  closeSpareDescriptors(opened.slice(count / 2));
  return opened.slice(0, count / 2);
}
