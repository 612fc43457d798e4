import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** A file that only one library of this process may open. */
export interface ClaimedFile {
  /** The absolute path, without links. */
  readonly path: string;
  /** True if no other code of this process has the file open. */
  readonly isFirst: boolean;
  /** Lets other libraries open the file. A second call does nothing. */
  release(): void;
}

/**
 * Claims the file at `path` for one library. POSIX locks belong to the process. Therefore two
 * libraries on one file in one process do not see each other's locks, and acknowledged writes are
 * lost. Throws an Error with the name of the library that has the file open, by this or another
 * path.
 */
export function claimFile(path: string, library: string): ClaimedFile {
  const absolute = realPath(resolve(path));
  const claims = claimsOfProcess();
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

/**
 * Returns the claims of the process. Locks belong to the process, so the claims do, even if two
 * versions of this module are loaded.
 */
function claimsOfProcess(): Map<string, Claim> {
  // Only this module uses the key.
  const holder = globalThis as { [claimsKey]?: Map<string, Claim> };
  return holder[claimsKey] ??= new Map();
}

const claimsKey: unique symbol = Symbol.for("@svc/resource-api:sqlite-files");

/** Returns true if two paths name one file, even through hard links or in another case. */
function isSameFile(one: string, other: string): boolean {
  if (one === other) return true;
  if (!existsSync(one) || !existsSync(other)) return false;
  const [left, right] = [statSync(one), statSync(other)];
  return left.ino === right.ino && left.dev === right.dev;
}

/** Returns one path for one file, whichever links lead to it, even before the file exists. */
function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const folder = dirname(path);
  return existsSync(folder) ? join(realpathSync(folder), basename(path)) : path;
}
