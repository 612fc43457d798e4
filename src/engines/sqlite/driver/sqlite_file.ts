import { beforeExit } from "../../../runtime/host.ts";
import { claimFile } from "../../../runtime/files/claimed_files.ts";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** The file of a SQLite database, claimed by the driver that has opened it. */
export interface SqliteFile {
  /** The absolute path. */
  readonly path: string;
  /** The absolute path as the program specified it, with unresolved links. */
  readonly givenPath: string;
  readonly temporary: boolean;
  /** Returns true if there is an empty journal that did not exist when the file was claimed. */
  hasIdleJournal(): boolean;
  /** Lets other libraries open the file. Deletes a temporary file. */
  release(): void;
}

/**
 * Claims a SQLite file at `path` for one library. Throws if another library has the file. For
 * `:memory:` creates a temporary file: two connections cannot share a database in memory.
 */
export function claimSqliteFile(path: string, library: string): SqliteFile {
  if (path === ":memory:") return temporaryFile();
  const claimed = claimFile(path, library);
  const journal = `${claimed.path}-wal`;
  const hadJournal = existsSync(journal);
  return {
    path: claimed.path,
    givenPath: resolve(path),
    temporary: false,
    hasIdleJournal: () => !hadJournal && existsSync(journal) && statSync(journal).size === 0,
    release: claimed.release,
  };
}

/**
 * Requires a usable SQLite file at `path`. For any other file, throws an Error that says what to
 * do, because the libraries' messages differ and say less. The function does not open the file
 * itself, because closing the file would release all POSIX locks of this process on it, including
 * those of open connections.
 */
export function requireSqliteFile(path: string, readOnly: boolean): void {
  if (path === ":memory:") return;
  if (!existsSync(path)) {
    if (readOnly) throw new Error(`Cannot open ${path}: there is no such file`);
    if (existsSync(dirname(path))) return;
    throw new Error(`Cannot create ${path}: create the folder ${dirname(path)} first`);
  }
  if (statSync(path).isDirectory()) {
    throw new Error(`Cannot open ${path}: it is a folder, name a file in it`);
  }
}

/** Requires that a client of the program has a file open. Throws for a database in memory. */
export function requireFileOfClient(path: string | null): string {
  if (path !== null) return path;
  throw new Error(
    "Cannot open the database of this client: it is in memory, where no other connection reaches " +
      "it, and the service needs some of its own; give the client a file",
  );
}

function temporaryFile(): SqliteFile {
  const folder = mkdtempSync(join(tmpdir(), "resource-api-memory-"));
  // A process that exits without closing the database leaves no temporary file.
  const cancel = beforeExit(release);
  const file = join(folder, "memory.db");
  return { path: file, givenPath: file, temporary: true, hasIdleJournal: () => false, release };

  function release(): void {
    cancel();
    rmSync(folder, { recursive: true, force: true });
  }
}
