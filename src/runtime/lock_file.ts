import { existsSync } from "node:fs";
import { isDeno } from "./host.ts";

/** A file that is opened only for its lock. `lock(true)` requests an exclusive lock. */
export type LockFile = Pick<Deno.FsFile, "tryLockSync" | "lock" | "unlockSync" | "close">;

/**
 * Opens a file for its lock (`flock`). Only one handle at a time holds the lock, until the handle
 * unlocks or the process ends. Throws if the host has no such locks, or if the file cannot be
 * created. Never asks the user for a permission.
 */
export function openLockFile(path: string, mode: number): LockFile {
  if (!isDeno) throw new Error("this host has no locks on files");
  if (!isPermitted(path)) throw new Error(`there is no permission to read and write ${path}`);
  try {
    return Deno.openSync(path, { read: true, write: true, create: true, mode });
  } catch (error) {
    // If the file belongs to another user, opening it for reading is sufficient for the lock.
    const isOfOther = error instanceof Deno.errors.PermissionDenied && existsSync(path);
    if (isOfOther) return Deno.openSync(path, { read: true });
    throw error;
  }
}

/** Returns true if the lock file exists, and false without the permission to read it. */
export function lockFileExists(path: string): boolean {
  return isDeno && isPermitted(path) && existsSync(path);
}

function isPermitted(path: string): boolean {
  return (["read", "write"] as const).every((name) =>
    Deno.permissions.querySync({ name, path }).state === "granted"
  );
}
