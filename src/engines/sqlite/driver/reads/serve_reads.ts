import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../../../runtime/system_runtime.ts";
import type { Statement } from "../../../../sql/fragment.ts";
import { DatabaseError, type DatabaseErrorKind, reasonOf } from "../../../../db/database_error.ts";
import type { QueryResult } from "../../../../db/driver.ts";
import { retryWhileBusy } from "../sqlite_connection.ts";
import { type ConnectionAdditions, importFunctions } from "../application_functions.ts";
import { openSqliteConnection } from "../sqlite_file.ts";
import { isBusyError, toSqliteError } from "../sqlite_errors.ts";
import type { SqliteLibrary } from "../sqlite_library.ts";
import { fixedTimeLimit } from "../read_limits.ts";

// This module is the program of a reader thread, which reads a SQLite file on its own connection.

export interface ReaderStartData {
  readonly path: string;
  readonly library: SqliteLibrary["source"];
  readonly additions: ConnectionAdditions;
  /** Shared memory that contains the number of the read that must end. */
  readonly cancelled: Int32Array;
}

export interface ThreadRead {
  readonly id: number;
  readonly statement: Statement;
  readonly limitMs: number;
  readonly maxBytes: number;
}

export type ReaderAnswer =
  | "ready"
  | "closed"
  | { readonly result: QueryResult; readonly bytesLeft: number; readonly ms: number }
  | { readonly kind: DatabaseErrorKind | null; readonly reason: string };

// The cast is safe: only the driver starts this module, and passes this data.
const { path, library: { module, name }, additions, cancelled } = workerData as ReaderStartData;
// The cast is safe: the module and the name are those that the library itself states.
const { [name]: found } = await import(module) as { readonly [name: string]: SqliteLibrary };
if (found === undefined) throw new Error(`${module} has no ${name}`);
const library = found;
const functions = await importFunctions(additions.functions);
const options = { ...additions, functions, readOnly: true, clock: systemClock };
const connection = openSqliteConnection(library, path, options);

parentPort?.on("message", async (message: ThreadRead | "close") => {
  if (message !== "close") return parentPort?.postMessage(await answer(message));
  connection.close();
  parentPort?.postMessage("closed" satisfies ReaderAnswer);
});
parentPort?.postMessage("ready" satisfies ReaderAnswer);

async function answer({ id, statement, limitMs, maxBytes }: ThreadRead): Promise<ReaderAnswer> {
  const bytes = { left: maxBytes };
  const time = fixedTimeLimit(limitMs, () => Atomics.load(cancelled, 0) === id);
  const busyRetry = {
    clock: systemClock,
    waitLimitMs: limitMs,
    isBusy: (error: unknown) => isBusyError(library.errorName(error)),
  };
  const beganAt = systemClock.elapsedMs();
  try {
    const result = await retryWhileBusy(
      busyRetry,
      () => connection.read(statement, { bytes, time, atOnce: false }),
    );
    return { result, bytesLeft: bytes.left, ms: systemClock.elapsedMs() - beganAt };
  } catch (cause) {
    const error = toSqliteError(cause, library.errorName(cause));
    return error instanceof DatabaseError
      ? { kind: error.kind, reason: reasonOf(error) }
      : { kind: null, reason: String(error) };
  }
}
