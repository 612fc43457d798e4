import { beforeExit } from "../../../runtime/host.ts";
import { claimFile } from "../../../runtime/files/claimed_files.ts";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { withoutLogin } from "../../server_url.ts";
import type { SqlValue } from "../../../sql/fragment.ts";
import { isUnwritable } from "./sqlite_errors.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import { fold } from "../../../sql/fold.ts";
import { exactSumAggregate, metricFunctions } from "../sql/metrics.ts";
import { jsonNumberFunction } from "../sql/json_path.ts";
import { foldFunctionName, likeFunctionName } from "../sql/text_operators.ts";
import { rowBytesFunctionName, timeCheckFunctionName } from "../sql/time_check.ts";
import { RowBytes, StatementDeadline } from "./read_limits.ts";
import { matchesWildcards } from "../../../sql/wildcard_pattern.ts";
import {
  type BusyRetry,
  retryWhileBusy,
  type SqliteConnection,
  sqliteConnection,
} from "./sqlite_connection.ts";
import { type ApplicationFunctions, defineFunctions } from "./application_functions.ts";
import type { SqliteLibrary } from "./sqlite_library.ts";

export interface SqliteFile {
  readonly path: string;
  /** The absolute path as the program specified it. A symbolic link in it can change later. */
  readonly givenPath: string;
  readonly temporary: boolean;
  /** True if SQLite opens the file without locks and journal, because no program changes it. */
  readonly isUnchanging: boolean;
  hasChanges(): boolean;
  /** Returns true if there is an empty journal that did not exist when the file was claimed. */
  hasIdleJournal(): boolean;
  release(): void;
}

/** Claims a file for one library, or throws. For `:memory:`, creates a temporary file. */
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

/** Returns the file with a URI as path, by which SQLite knows that no program changes the file. */
export function unchangingFile(file: SqliteFile): SqliteFile {
  const path = `${pathToFileURL(file.path)}?immutable=1`;
  return { ...file, path, isUnchanging: true, hasIdleJournal: () => false };
}

export function unopenedReason(
  name: string | null,
  { path }: SqliteFile,
  readOnly: boolean,
): string | null {
  if (name === "SQLITE_NOTADB") return "it is not a SQLite database, or it is encrypted";
  if (!isUnwritable(name)) return null;
  if (!readOnly) return "it, its folder or its file system cannot be written; open it read-only";
  const journal = changedJournal(path);
  if (journal === null) {
    return "this user may not read it, or it is in WAL mode in a folder that cannot be written, " +
      "and the process lacks the permissions (-A) to read it without a journal";
  }
  return `it needs the changes in ${journal}, and SQLite can only apply them in a folder that can ` +
    "be written: copy both files into such a folder, and open the copy";
}

function changedJournal(path: string): string | null {
  const journals = [`${path}-wal`, `${path}-journal`];
  return journals.find((one) => (statSync(one, { throwIfNoEntry: false })?.size ?? 0) > 0) ?? null;
}

/** Checks a file without opening it: closing it would release this process's POSIX locks on it. */
export function requireSqliteFile(path: string, readOnly: boolean): void {
  if (path === ":memory:") return;
  const shown = withoutLogin(path);
  if (!existsSync(path)) {
    if (readOnly) throw new Error(`Cannot open ${shown}: there is no such file`);
    if (existsSync(dirname(path))) return;
    throw new Error(`Cannot create ${shown}: create the folder ${dirname(shown)} first`);
  }
  if (statSync(path).isDirectory()) {
    throw new Error(`Cannot open ${shown}: it is a folder, name a file in it`);
  }
}

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

interface OpenConnectionOptions {
  readonly readOnly: boolean;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly functions: ApplicationFunctions;
  readonly extensions: readonly string[];
}

/** Undoes the transaction of a killed program, which a read-only connection cannot do. */
export function endJournal(library: SqliteLibrary, path: string): void {
  try {
    const handle = library.open(path, false);
    try {
      handle.prepare("SELECT 1 FROM sqlite_schema").all([], false);
    } finally {
      handle.close();
    }
  } catch (error) {
    if (library.errorName(error) === null) throw error;
  }
}

export function openSqliteConnection(
  library: SqliteLibrary,
  path: string,
  { readOnly, clock, functions, extensions }: OpenConnectionOptions,
): SqliteConnection {
  const handle = library.open(path, readOnly, extensions);
  const deadline = new StatementDeadline(clock);
  const rowBytes = new RowBytes();
  handle.defineFunction(
    foldFunctionName,
    (value) => typeof value === "string" ? fold(value) : value,
  );
  handle.defineFunction(
    likeFunctionName,
    (value, pattern) =>
      typeof value === "string" ? Number(matchesWildcards(value, String(pattern))) : null,
  );
  handle.defineCheck(timeCheckFunctionName, deadline.check);
  handle.defineCheck(rowBytesFunctionName, rowBytes.check);
  handle.defineFunction(jsonNumberFunction.name, jsonNumberFunction.work);
  for (const [name, work] of metricFunctions) handle.defineFunction(name, work);
  handle.defineAggregate(exactSumAggregate.name, exactSumAggregate);
  try {
    defineFunctions(handle, functions);
  } catch (error) {
    handle.close();
    throw error;
  }
  return sqliteConnection(handle, { deadline, rowBytes });
}

export interface SqliteWriter {
  readonly connection: SqliteConnection;
  close(): void;
}

export async function openWriter(
  library: SqliteLibrary,
  file: SqliteFile,
  busyRetry: BusyRetry,
  options: Omit<OpenConnectionOptions, "readOnly">,
): Promise<SqliteWriter> {
  const writer = openSqliteConnection(library, file.path, { ...options, readOnly: false });
  const run = (text: string) => writer.run({ text, values: [] }).rows[0] ?? [];
  try {
    const [mode] = await retryWhileBusy(busyRetry, () => run("PRAGMA journal_mode"));
    await retryWhileBusy(busyRetry, () => run("PRAGMA journal_mode = WAL"));
    run(`PRAGMA synchronous = ${file.temporary ? "OFF" : "FULL"}`);
    run("PRAGMA foreign_keys = ON");
    requireWritable(run, busyRetry);
    const close = () => {
      if (!file.temporary && mode !== "wal") leaveUnusedJournal(run, library);
      writer.close();
    };
    return { connection: writer, close };
  } catch (error) {
    writer.close();
    throw error;
  }
}

/** Throws if the file can only be read. SQLite reports no error when it opens such a file. */
function requireWritable(run: (text: string) => unknown, { isBusy }: BusyRetry): void {
  try {
    run("BEGIN IMMEDIATE");
  } catch (error) {
    // A program that holds the write lock shows that the file can be written.
    if (isBusy(error)) return;
    throw error;
  }
  try {
    // BEGIN also succeeds without permission to write, so this statement writes.
    run("PRAGMA user_version = 0");
  } finally {
    run("ROLLBACK");
  }
}

/** Leaves WAL mode if the journal has no commit, and if no other connection uses the file. */
function leaveUnusedJournal(
  run: (text: string) => readonly SqlValue[],
  library: SqliteLibrary,
): void {
  try {
    const [, pages] = run("PRAGMA wal_checkpoint");
    if (pages === 0) run("PRAGMA journal_mode = DELETE");
  } catch (error) {
    if (library.errorName(error) === null) throw error;
  }
}
