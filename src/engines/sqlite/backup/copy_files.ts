import { backup, DatabaseSync } from "node:sqlite";

export interface FileCopy {
  readonly path: string;
  readonly copy: string;
}

const maxLockWaitMs = 5_000;

/**
 * Copies SQLite files as they are at one point in time. No program can write to the files until
 * each file has a read transaction. Returns the duration of these locks in milliseconds. Throws a
 * plain Error if a file stays locked, or if a copy is not intact. This process must not have the
 * files open: closing one connection removes the locks of all connections.
 */
export async function copySqliteFiles(
  files: readonly FileCopy[],
  elapsedMs: () => number,
  lockWaitMs = maxLockWaitMs,
): Promise<number> {
  const snapshots: DatabaseSync[] = [];
  try {
    const heldMs = takeSnapshots(files, snapshots, { elapsedMs, lockWaitMs });
    for (const [at, snapshot] of snapshots.entries()) await backup(snapshot, files[at]?.copy ?? "");
    for (const { copy } of files) requireIntact(copy);
    return heldMs;
  } finally {
    for (const snapshot of snapshots) snapshot.close();
  }
}

function takeSnapshots(
  files: readonly FileCopy[],
  snapshots: DatabaseSync[],
  { elapsedMs, lockWaitMs }: { readonly elapsedMs: () => number; readonly lockWaitMs: number },
): number {
  const locks: DatabaseSync[] = [];
  try {
    let startedAt = elapsedMs();
    for (const { path } of files) {
      const lock = new DatabaseSync(path, { timeout: lockWaitMs });
      locks.push(lock);
      attempt(path, () => lock.exec("BEGIN IMMEDIATE"));
      if (locks.length === 1) startedAt = elapsedMs();
    }
    for (const { path } of files) {
      const snapshot = new DatabaseSync(path, { readOnly: true, timeout: lockWaitMs });
      snapshots.push(snapshot);
      // SQLite takes the snapshot of a transaction at its first read.
      attempt(path, () => snapshot.exec("BEGIN; SELECT 1 FROM sqlite_schema"));
    }
    return elapsedMs() - startedAt;
  } finally {
    for (const lock of locks) lock.close();
  }
}

function attempt(path: string, work: () => void): void {
  try {
    work();
  } catch (cause) {
    throw new Error(`Cannot copy ${path}: ${messageOf(cause)}`, { cause });
  }
}

export function requireIntact(path: string): void {
  const reason = damageOf(path);
  if (reason !== null) throw new Error(`${path} is not intact: ${reason}`);
}

function damageOf(path: string): string | null {
  try {
    const file = new DatabaseSync(path);
    try {
      const [first = {}] = file.prepare("PRAGMA quick_check(1)").all();
      const [verdict] = Object.values(first);
      return verdict === "ok" ? null : String(verdict);
    } finally {
      file.close();
    }
  } catch (error) {
    return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
