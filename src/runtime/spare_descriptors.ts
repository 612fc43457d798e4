import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { isDeno } from "./host.ts";

/** Returns true if the process can open so many more files now; true as well where it may not try. */
export function hasSpareDescriptors(count: number): boolean {
  if (!mayOpenSpare()) return true;
  const opened = openSpare(count);
  if (opened === null) return false;
  closeSpare(opened);
  return true;
}

/** Returns true if the process may open the null device. Asked for: an attempt would ask the person at the terminal. */
export function mayOpenSpare(): boolean {
  // Windows has another one, and no such limit.
  if (devNull !== "/dev/null") return false;
  return !isDeno || Deno.permissions.querySync({ name: "read", path: devNull }).state === "granted";
}

/** Opens so many descriptors; null, with nothing open, where the process runs out of them before. */
export function openSpare(count: number): readonly number[] | null {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, "r"));
    return opened;
  } catch {
    // Whatever the reason, there are not so many to be had; what has been opened is given back.
    closeSpare(opened);
    return null;
  }
}

export function closeSpare(descriptors: readonly number[]): void {
  for (const descriptor of descriptors) closeSync(descriptor);
}
