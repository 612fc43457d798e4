import { catching } from "../../../runtime/maybe_promise.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { SqlValue } from "../../../sql/fragment.ts";
import type { Driver } from "../../../db/driver.ts";
import type {
  ChangesEngine,
  PollingListener,
  PollingMethod,
} from "../../../db/engine/changes_engine.ts";
import { decodeSqliteCell, parseSqliteImage } from "../sql/image_json.ts";
import { setUpSqliteLog } from "./set_up_sqlite_log.ts";
import { sqliteChangeLog } from "./sqlite_change_log.ts";
import { untrackedWriteDetector } from "./untracked_write_detector.ts";

/** The change log of SQLite, by triggers. */
export const sqliteChanges: ChangesEngine = {
  async setUp({ driver, tables, changes, random }) {
    const untracked = await setUpSqliteLog(driver, tables, changes, random);
    return {
      untracked,
      findUntracked: async () =>
        driver.isShared ? await untrackedWriteDetector(driver, untracked) : null,
      open: ({ hints, changes }) =>
        sqliteChangeLog({ driver, tables: new Set(tables), changes, hints, random }),
      // A table without a trigger has a temporary one.
      recordingDriver: () => driver,
    };
  },
  images: { parse: parseSqliteImage, decodeCell: decodeSqliteCell },
  polling: sqlitePolling,
  mark: `SELECT seq FROM sqlite_sequence WHERE name = '_service_changes'`,
  // There is one writer at a time: all changes after the mark are of this transaction.
  changesSince: (table, mark) => ({
    text: `SELECT seq, coalesce(after, before) FROM "_service_changes"
      WHERE seq > ? AND "table" = ? COLLATE NOCASE AND coalesce(after, before) IS NOT NULL`,
    values: [mark, table.name],
  }),
  history: {
    isTable: ({ name }, place) => `lower("table") = lower(${place(name)})`,
    mayHave,
    at: "at * 1000",
    before: "before",
    after: "after",
  },
  untrackedConsequence: "at each write of another program, streams start again",
  ownWrites: "Live streams show what this service writes, and begin again after what other " +
    "programs write",

  whyForbidden: ({ label }) => Promise.resolve(`${label} may not be written to`),
};

/** SQLite counts the commits of all other connections, and reading the count costs nothing. */
function sqlitePolling(
  driver: Driver,
  { notify, findUntracked }: PollingListener,
): PollingMethod {
  /** Null after a poll that has failed, which is news as well: the first one may. */
  let known: unknown;

  async function poll(): Promise<boolean> {
    const version = await catching<unknown>(
      async () => (await driver.query({ text: "PRAGMA data_version", values: [] })).rows[0]?.[0],
      // By contract: the read of the log after the hint meets the same error, and reports it.
      () => null,
    );
    const isNews = version !== known;
    // Where it fails the next poll tries again: the count is still different.
    const isFound = !isNews || findUntracked === null ||
      await findUntracked().then(() => true, () => false);
    if (isFound) known = version;
    if (isNews) notify();
    return isNews;
  }

  return { poll, minMs: 25, maxMs: 100 };
}

/** LIKE ignores the case of ASCII, as SQLite does in names. JSON may escape other characters. */
function mayHave(
  column: ColumnInfo,
  value: string,
  image: string,
  place: (value: SqlValue) => string,
): string {
  if (!/^[ !#-[\]-~]{0,1000}$/.test(value)) return "true";
  const isText = column.kind === "text" || column.kind === "uuid";
  const member = `"${column.dbName}":${isText ? `"${value}"` : value}`.replace(/[%_~]/g, "~$&");
  const ends = [",", "}"].map((end) => `${image} LIKE ${place(`%${member}${end}%`)} ESCAPE '~'`);
  return `(${ends.join(" OR ")})`;
}
