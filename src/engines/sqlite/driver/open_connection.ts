import type { Clock } from "../../../runtime/runtime.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import { fold } from "../../../sql/fold.ts";
import { exactSumAggregate, metricFunctions } from "../sql/metrics.ts";
import { jsonNumberFunction } from "../sql/json_path.ts";
import { hidingValues, sqliteDialect } from "../sql/dialect.ts";
import { foldFunctionName, likeFunctionName, sqliteText } from "../sql/text_operators.ts";
import { rowBytesFunctionName, timeCheckFunctionName } from "../sql/time_check.ts";
import { RowBytes, StatementDeadline } from "./read_limits.ts";
import { matchesWildcards } from "../../../sql/wildcard_pattern.ts";
import {
  type BusyRetry,
  retryWhileBusy,
  type SqliteConnection,
  sqliteConnection,
} from "./sqlite_connection.ts";
import type { SqliteFile } from "./sqlite_file.ts";
import { type ApplicationFunctions, defineFunctions } from "./application_functions.ts";
import type { SqliteLibrary } from "./sqlite_library.ts";

export interface OpenConnectionOptions {
  readonly readOnly: boolean;
  /** The clock by which the duration of statements is measured. */
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly functions: ApplicationFunctions;
  /** Absolute paths of SQLite extensions. */
  readonly extensions: readonly string[];
}

/**
 * Lets SQLite undo the transaction of a killed program by its journal, which no read-only
 * connection does. SQLite also removes the empty journal that a read-only connection has left next
 * to a file in WAL mode, when the last connection closes, if that connection can write. The journal
 * stays if another program has the file open, or if this program cannot write to it.
 */
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

/** Opens a connection to a SQLite file, and adds the SQL functions that the dialect uses. */
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

export async function openWriter(
  library: SqliteLibrary,
  file: SqliteFile,
  busyRetry: BusyRetry,
  options: Omit<OpenConnectionOptions, "readOnly">,
): Promise<SqliteConnection> {
  const writer = openSqliteConnection(library, file.path, { ...options, readOnly: false });
  const run = (text: string) => writer.run({ text, values: [] });
  try {
    await retryWhileBusy(busyRetry, () => run("PRAGMA journal_mode = WAL"));
    run(`PRAGMA synchronous = ${file.temporary ? "OFF" : "FULL"}`);
    run("PRAGMA foreign_keys = ON");
    return writer;
  } catch (error) {
    writer.close();
    throw error;
  }
}

/** Returns the dialect for a file. It hides values from a planner that could make no use of them. */
export function dialectFor(connection: SqliteConnection): Dialect {
  const text = `SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat4'
     OR (type = 'index' AND sql LIKE '%)%WHERE%') LIMIT 1`;
  const usesValues = connection.run({ text, values: [] }).rows.length > 0;
  const dialect = sqliteDialect({ text: sqliteText });
  const withoutEstimates = hidingValues(dialect);
  return usesValues ? { ...dialect, withoutEstimates } : withoutEstimates;
}
