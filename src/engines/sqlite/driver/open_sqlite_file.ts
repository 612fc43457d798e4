import { systemClock } from "../../../runtime/system_runtime.ts";
import type { Driver } from "../../../db/driver.ts";
import { errorPrefix, sqliteOptionRules, type SqliteOptions } from "../../../db/driver_options.ts";
import {
  additionsOf,
  type ApplicationFunctions,
  importFunctions,
} from "./application_functions.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import { hidingValues, sqliteDialect } from "../sql/dialect.ts";
import { sqliteText } from "../sql/text_operators.ts";
import { acceptQuotedStrings } from "./quoted_strings.ts";
import { ReaderThreads } from "./reads/reader_threads.ts";
import { type BusyRetry, retryWhileBusy, type SqliteConnection } from "./sqlite_connection.ts";
import { SqliteDriver } from "./sqlite_driver.ts";
import { isBusyError, isUnwritable, toSqliteError } from "./sqlite_errors.ts";
import {
  claimSqliteFile,
  endJournal,
  openSqliteConnection,
  openWriter,
  requireSqliteFile,
  type SqliteFile,
  type SqliteWriter,
  unchangingFile,
  unopenedReason,
} from "./sqlite_file.ts";
import type { SqliteLibrary } from "./sqlite_library.ts";

export async function openSqliteFile(
  library: SqliteLibrary,
  path: string,
  options: SqliteOptions,
): Promise<Driver> {
  const open = (library: SqliteLibrary) => sqliteDriver(library, path, options);
  return await acceptQuotedStrings(await open(library), library, open);
}

/** The maximum number of threads. More would take processor time from the main thread. */
const maxReaderThreads = 2;

/** Reads use a separate connection and never wait for writes. `:memory:` is a temporary file. */
export async function sqliteDriver(
  library: SqliteLibrary,
  path: string,
  given: SqliteOptions = {},
  maxThreads: number = maxReaderThreads,
): Promise<Driver> {
  const options = sqliteOptionRules.read(given, errorPrefix);
  const readOnly = options.readOnly === true;
  requireSqliteFile(path, readOnly);
  const functions = await importFunctions(additionsOf(options).functions);
  const file = claimSqliteFile(path, library.name);
  const open = (library: SqliteLibrary, file: SqliteFile) =>
    openClaimed(library, file, { path, maxThreads, functions, options });
  try {
    return await open(library, file).catch(async (error) => {
      const name = library.errorName(error);
      if (!readOnly || !isUnwritable(name)) throw error;
      if (file.hasChanges()) {
        endJournal(library, file.path);
        return await open(library, file);
      }
      // If SQLite can create no journal in the folder, it can open the file only as immutable.
      const { nodeSqlite } = await import("./node_sqlite_library.ts");
      return await open(nodeSqlite, unchangingFile(file)).catch(() => Promise.reject(error));
    });
  } catch (error) {
    const name = library.errorName(error);
    file.release();
    const reason = unopenedReason(name, file, readOnly);
    if (reason === null) throw toSqliteError(error, name);
    throw new Error(`Cannot open ${path}: ${reason}`, { cause: error });
  }
}

async function openClaimed(
  library: SqliteLibrary,
  file: SqliteFile,
  { path, maxThreads, functions, options }: {
    readonly path: string;
    readonly maxThreads: number;
    readonly functions: ApplicationFunctions;
    readonly options: ReturnType<typeof sqliteOptionRules.read>;
  },
): Promise<Driver> {
  const { clock = systemClock, waitLimitMs, raisedMessages } = options;
  const busyRetry: BusyRetry = {
    clock,
    waitLimitMs,
    isBusy: (e) => isBusyError(library.errorName(e)),
  };
  const additions = additionsOf(options);
  const added = { clock, ...additions, functions };
  let writer: SqliteWriter | null = null;
  let reader: SqliteConnection | null = null;
  try {
    if (options.readOnly !== true) writer = await openWriter(library, file, busyRetry, added);
    const connection = reader = openSqliteConnection(library, file.path, {
      ...added,
      readOnly: true,
    });
    // This is the first read. It fails if the file is not a database.
    const dialect = await retryWhileBusy(busyRetry, () => dialectFor(connection));
    const label = `${path} (${library.name})`;
    const threads = new ReaderThreads({
      path: file.path,
      label,
      library: library.source,
      additions,
      maxThreads,
      clock,
    });
    const parts = { library, file, reader, writer, threads, busyRetry, label, dialect };
    return new SqliteDriver({ ...parts, raisedMessages });
  } catch (error) {
    reader?.close();
    writer?.close();
    throw error;
  }
}

/** Returns the dialect. It hides bound values from the planner if no plan can depend on them. */
function dialectFor(connection: SqliteConnection): Dialect {
  const text = `SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat4'
     OR (type = 'index' AND sql LIKE '%)%WHERE%') LIMIT 1`;
  const usesValues = connection.run({ text, values: [] }).rows.length > 0;
  const dialect = sqliteDialect({ text: sqliteText });
  const withoutEstimates = hidingValues(dialect);
  return usesValues ? { ...dialect, withoutEstimates } : withoutEstimates;
}
