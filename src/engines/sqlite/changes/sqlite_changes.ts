import { catching } from "../../../runtime/maybe_promise.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import { quoteText } from "../../../sql/fragment.ts";
import type { Connection, Driver } from "../../../db/driver.ts";
import type { ChangesEngine, PollingListener, PollingMethod } from "../../../db/engine/engine.ts";
import { decodeSqliteCell, parseSqliteImage } from "../sql/image_json.ts";
import { sqliteVersions } from "../sql/history_schema.ts";
import { setUpSqliteLog } from "./set_up_sqlite_log.ts";
import { openSqliteChangeLog } from "./sqlite_change_log.ts";

export const sqliteChangesEngine: ChangesEngine = {
  async setUp({ driver, tables, changes, random }) {
    const untracked = await setUpSqliteLog(driver, tables, changes, random);
    return {
      untracked,
      findUntracked: async () =>
        driver.isShared ? await untrackedWriteDetector(driver, untracked) : null,
      open: ({ hints, changes }) =>
        openSqliteChangeLog({ driver, tables: new Set(tables), changes, hints, random }),
      // If a table has no permanent triggers, temporary triggers record this connection's writes.
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
  versions: sqliteVersions,
  untrackedConsequence: "at each write of another program, streams start again",
  ownWrites: "Live streams show what this service writes, and begin again after what other " +
    "programs write",

  whyForbidden: ({ label }) => Promise.resolve(`${label} may not be written to`),
};

/** Polls the number of commits of other connections. A poll takes almost no time. */
function sqlitePolling(driver: Driver, { notify, findUntracked }: PollingListener): PollingMethod {
  /** The count of commits at the last poll. Null after a failed poll, which counts as a change. */
  let known: unknown;

  async function poll(): Promise<boolean> {
    const version = await catching<unknown>(
      async () => (await driver.query({ text: "PRAGMA data_version", values: [] })).rows[0]?.[0],
      // This error is ignored: the next read of the log has the same error, and reports it.
      () => null,
    );
    const isNews = version !== known;
    // After a failed search for untracked writes, `known` stays, so the next poll searches again.
    const isFound = !isNews || findUntracked === null ||
      await findUntracked().then(() => true, () => false);
    if (isFound) known = version;
    if (isNews) notify();
    return isNews;
  }

  return { poll, minMs: 25, maxMs: 100 };
}

/**
 * Creates the detector of untracked writes, which other programs make in tables without triggers.
 * It records a `touch` of each table if the number of other connections' commits has changed,
 * unless another process of the service has also recorded a change.
 *
 * Writes while no process was running cannot be detected, so a process records a `touch` at its
 * start.
 */
async function untrackedWriteDetector(
  driver: Driver,
  tables: readonly TableInfo[],
): Promise<(() => Promise<void>) | null> {
  if (tables.length === 0) return null;
  let known = await driver.transaction(async (connection) => {
    for (const text of ownChangesCounter) await connection.query({ text, values: [] });
    await recordTouches(tables, connection);
    return await readCounts(connection);
  });

  return () =>
    driver.transaction(async (connection) => {
      const found = await readCounts(connection);
      const isUntracked = found.commits !== known.commits && found.recorded === known.recorded;
      if (isUntracked) await recordTouches(tables, connection);
      known = isUntracked ? await readCounts(connection) : found;
    });
}

const ownChangesCounter = [
  `CREATE TEMP TABLE IF NOT EXISTS "_service_own" (changes INTEGER NOT NULL)`,
  `INSERT INTO "_service_own" (changes) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM "_service_own")`,
  `CREATE TEMP TRIGGER IF NOT EXISTS "_service_own_changes" AFTER INSERT ON main."_service_changes"
    BEGIN UPDATE "_service_own" SET changes = changes + 1; END`,
];

async function readCounts(connection: Connection) {
  const { rows: [version] } = await connection.query({ text: "PRAGMA data_version", values: [] });
  const { rows: [log] } = await connection.query({
    text: `SELECT (SELECT coalesce(max(seq), 0) FROM "_service_changes") -
        (SELECT changes FROM "_service_own"),
      (SELECT value FROM "_service_meta" WHERE name = 'floor')`,
    values: [],
  });
  return { commits: String(version?.[0]), recorded: String(log) };
}

async function recordTouches(tables: readonly TableInfo[], connection: Connection): Promise<void> {
  const rows = tables.map(({ name }) => `(${quoteText(name)}, 'touch')`);
  await connection.query({
    text: `INSERT INTO "_service_changes" ("table", op) VALUES ${rows.join(", ")}`,
    values: [],
  });
}
