import { beforeExit } from "../../../runtime/host.ts";
import { claimFile } from "../../../runtime/files/claimed_files.ts";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isUnwritable } from "./sqlite_errors.ts";

export interface SqliteFile {
  readonly path: string;
  /** The absolute path as the program specified it. A symbolic link in it can change later. */
  readonly givenPath: string;
  readonly temporary: boolean;
  /** True if the file is opened as one that no program changes, without locks and journal. */
  readonly isUnchanging: boolean;
  /** Returns true if a journal has changes that the file itself lacks. */
  hasChanges(): boolean;
  /** Returns true if there is an empty journal that was not there when the file was claimed. */
  hasIdleJournal(): boolean;
  /** Allows other libraries to open the file. Deletes a temporary file. */
  release(): void;
}

/** Claims a file for one library, or throws. `:memory:` is a temporary file for its connections. */
export function claimSqliteFile(path: string, library: string): SqliteFile {
  if (path === ":memory:") return temporaryFile();
  const claimed = claimFile(path, library);
  const journal = `${claimed.path}-wal`;
  const hadJournal = existsSync(journal);
  return {
    path: claimed.path,
    givenPath: resolve(path),
    ...{ temporary: false, isUnchanging: false },
    hasChanges: () => changedJournal(claimed.path) !== null,
    hasIdleJournal: () => !hadJournal && existsSync(journal) && statSync(journal).size === 0,
    release: claimed.release,
  };
}

/** Returns the file as one that no program changes, by the URI that SQLite has for this. */
export function unchangingFile(file: SqliteFile): SqliteFile {
  const path = `${pathToFileURL(file.path)}?immutable=1`;
  return { ...file, path, isUnchanging: true, hasIdleJournal: () => false };
}

/** Returns why SQLite could not open an existing file, or null if its own message says more. */
export function unopenedReason(
  name: string | null,
  { path }: SqliteFile,
  readOnly: boolean,
): string | null {
  if (name === "SQLITE_NOTADB") return "it is not a SQLite database, or it is encrypted";
  if (!isUnwritable(name)) return null;
  if (!readOnly) return "it, its folder or its file system cannot be written; open it read-only";
  const journal = changedJournal(path);
  if (journal === null) return "this user may not read it";
  return `it needs the changes in ${journal}, and SQLite can only apply them in a folder that can ` +
    "be written: copy both files into such a folder, and open the copy";
}

/** Returns the path of a journal with changes, or null. */
function changedJournal(path: string): string | null {
  const journals = [`${path}-wal`, `${path}-journal`];
  return journals.find((one) => (statSync(one, { throwIfNoEntry: false })?.size ?? 0) > 0) ?? null;
}

/**
 * Requires a usable SQLite file at `path`. Otherwise throws an Error that contains the remedy,
 * which the libraries' messages lack. It does not open the file, because closing it would release
 * all POSIX locks of this process on the file, including those of open connections.
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

/** Requires that a client of the program has a file open, and no database in memory. */
export function requireFileOfClient(path: string | null): string {
  if (path !== null) return path;
  throw new Error(
    "Cannot open the database of this client: it is in memory, where no other connection reaches " +
      "it, and the service needs some of its own; give the client a file",
  );
}

function temporaryFile(): SqliteFile {
  const folder = mkdtempSync(join(tmpdir(), "resource-api-memory-"));
  // Deletes the temporary file even if the process exits without closing the database.
  const cancel = beforeExit(release);
  const file = join(folder, "memory.db");
  const none = () => false;
  return {
    ...{ path: file, givenPath: file, temporary: true, isUnchanging: false },
    ...{ hasChanges: none, hasIdleJournal: none, release },
  };

  function release(): void {
    cancel();
    rmSync(folder, { recursive: true, force: true });
  }
}
