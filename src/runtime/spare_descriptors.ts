import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { isDeno } from "./host.ts";

/** Returns true if `count` more files can be opened, or if there is no permission to test this. */
export function hasSpareDescriptors(count: number): boolean {
  if (!mayOpenNullDevice()) return true;
  const opened = openSpareDescriptors(count);
  if (opened === null) return false;
  closeSpareDescriptors(opened);
  return true;
}

/** Returns true if the process has the permission to open the null device without a prompt. */
export function mayOpenNullDevice(): boolean {
  // Windows has another null device, and no such limit of file descriptors.
  if (devNull !== "/dev/null") return false;
  return !isDeno || Deno.permissions.querySync({ name: "read", path: devNull }).state === "granted";
}

/** Opens `count` file descriptors. Returns null, and leaves none open, if too few are free. */
export function openSpareDescriptors(count: number): readonly number[] | null {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, "r"));
    return opened;
  } catch {
    closeSpareDescriptors(opened);
    return null;
  }
}

export function closeSpareDescriptors(descriptors: readonly number[]): void {
  for (const descriptor of descriptors) closeSync(descriptor);
}
