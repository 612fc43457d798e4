import {
  closeSpareDescriptors,
  mayOpenNullDevice,
  openSpareDescriptors,
} from "../runtime/spare_descriptors.ts";

/**
 * Reserves file descriptors by opening the null device. Any client can use up all other descriptors
 * by idle connections. The listener then calls `release`, which closes the reserved descriptors.
 * Reserves nothing if the process may not open the null device.
 */
export function reserveDescriptors() {
  if (!mayOpenNullDevice()) return noReserve;
  let held: readonly number[] = [];
  // If the process has a low limit, fewer descriptors are reserved.
  const size = sizes.find((count) => {
    held = takeHalfOf(2 * count);
    return held.length > 0;
  });
  if (size === undefined) return noReserve;
  return {
    /** Number of reserved descriptors; 0 if the process cannot reserve any. */
    size,
    /** Closes the reserved descriptors, so that the process can open files and connections. */
    release() {
      closeSpareDescriptors(held);
      held = [];
    },
    /** Reserves descriptors again if twice as many are free. Returns true if they are reserved. */
    take() {
      if (held.length === 0) held = takeHalfOf(2 * size);
      return held.length > 0;
    },
  };
}

const sizes: readonly number[] = [128, 64, 32, 16, 8];

const noReserve = { size: 0, release() {}, take: () => true };

/** Opens `count` descriptors and keeps half of them. Keeps none if it cannot open all. */
function takeHalfOf(count: number): readonly number[] {
  const opened = openSpareDescriptors(count) ?? [];
  closeSpareDescriptors(opened.slice(count / 2));
  return opened.slice(0, count / 2);
}
