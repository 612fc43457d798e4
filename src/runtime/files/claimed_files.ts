import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

export interface ClaimedFile {
  readonly path: string;
  /** True if no other code of this process has the file open. */
  readonly isFirst: boolean;
  /** Allows other libraries to open the file. A second call has no effect. */
  release(): void;
}

/**
 * Claims a file for one SQLite library, or throws an Error that names the library that uses it. Two
 * libraries in one process ignore each other's POSIX locks, and overwrite each other's commits.
 */
export function claimFile(path: string, library: string): ClaimedFile {
  const absolute = realPath(resolve(path));
  // The claims are global, because several loaded copies of this module share them.
  // The cast is safe: only this module writes to this key.
  const holder = globalThis as { [claimsKey]?: Map<string, Claim> };
  const claims = holder[claimsKey] ??= new Map();
  const found = [...claims].find(([known]) => isSameFile(known, absolute));
  const [key, claim] = found ?? [absolute, { library, users: 0 }];
  if (claim.library !== library) {
    throw new Error(
      `Cannot open ${path} with ${library}: this process has it open with ${claim.library}, and ` +
        "the two would lose each other's writes; use one of them, and give kv a file of its own",
    );
  }
  claim.users += 1;
  claims.set(key, claim);
  let isReleased = false;
  return {
    path: absolute,
    isFirst: claim.users === 1,
    release() {
      if (isReleased) return;
      isReleased = true;
      claim.users -= 1;
      if (claim.users === 0) claims.delete(key);
    },
  };
}

interface Claim {
  readonly library: string;
  users: number;
}

const claimsKey: unique symbol = Symbol.for("@svc/resource-api:sqlite-files");

/** Returns true if two paths lead to one file, even by a hard link or in another letter case. */
function isSameFile(one: string, other: string): boolean {
  if (one === other) return true;
  if (!existsSync(one) || !existsSync(other)) return false;
  const [left, right] = [statSync(one), statSync(other)];
  return left.ino === right.ino && left.dev === right.dev;
}

function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const folder = dirname(path);
  return existsSync(folder) ? join(realpathSync(folder), basename(path)) : path;
}
