import { kindProperties } from "../../../schema/kinds/kind_properties.ts";
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
import { openSqliteChangeLog } from "./sqlite_change_log.ts";
import { untrackedWriteDetector } from "./untracked_write_detector.ts";

/** The change log of SQLite, whose entries are written by triggers. */
export const sqliteChangesEngine: ChangesEngine = {
  async setUp({ driver, tables, changes, random }) {
    const untracked = await setUpSqliteLog(driver, tables, changes, random);
    return {
      untracked,
      findUntracked: async () =>
        driver.isShared ? await untrackedWriteDetector(driver, untracked) : null,
      open: ({ hints, changes }) =>
        openSqliteChangeLog({ driver, tables: new Set(tables), changes, hints, random }),
      // If a table has no permanent triggers, temporary ones record the writes of this connection.
      recordingDriver: () => driver,
    };
  },
  images: { parse: parseSqliteImage, decodeCell: decodeSqliteCell },
  polling: sqlitePolling,
  mark: `SELECT seq FROM sqlite_sequence WHERE name = '_service_changes'`,
  // SQLite has one writer at a time, so all changes after `mark` belong to this transaction.
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

/** Polls the number of commits of other connections, which takes almost no time. */
function sqlitePolling(driver: Driver, { notify, findUntracked }: PollingListener): PollingMethod {
  /** The count of commits at the last poll. Null after a failed poll, which counts as a change. */
  let known: unknown;

  async function poll(): Promise<boolean> {
    const version = await catching<unknown>(
      async () => (await driver.query({ text: "PRAGMA data_version", values: [] })).rows[0]?.[0],
      // The next read of the log has the same error and reports it, so it is ignored here.
      () => null,
    );
    const isNews = version !== known;
    // After a failed search for untracked writes, `known` stays, so the next poll repeats it.
    const isFound = !isNews || findUntracked === null ||
      await findUntracked().then(() => true, () => false);
    if (isFound) known = version;
    if (isNews) notify();
    return isNews;
  }

  return { poll, minMs: 25, maxMs: 100 };
}

/** Returns a condition for images that can contain the value. It can also match others. */
function mayHave(
  column: ColumnInfo,
  value: string,
  image: string,
  place: (value: SqlValue) => string,
): string {
  if (!/^[ !#-[\]-~]{0,1000}$/.test(value)) return "true";
  const isText = kindProperties[column.kind].json === "string";
  const member = `"${column.dbName}":${isText ? `"${value}"` : value}`.replace(/[%_~]/g, "~$&");
  const ends = [",", "}"].map((end) => `${image} LIKE ${place(`%${member}${end}%`)} ESCAPE '~'`);
  return `(${ends.join(" OR ")})`;
}
