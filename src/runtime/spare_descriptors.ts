import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { isDeno } from "./host.ts";

/** Returns true if `count` more files can be opened, or if there is no permission to test this. */
export function hasSpareDescriptors(count: number): boolean {
  if (!mayOpenNullDevice()) return true;
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, "r"));
    return true;
  } catch {
    return false;
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

function mayOpenNullDevice(): boolean {
  // Windows has another null device, and no such limit of file descriptors.
  if (devNull !== "/dev/null") return false;
  return !isDeno || Deno.permissions.querySync({ name: "read", path: devNull }).state === "granted";
}
