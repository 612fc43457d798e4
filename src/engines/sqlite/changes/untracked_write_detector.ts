import { quoteText } from "../../../sql/fragment.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import type { Connection, Driver } from "../../../db/driver.ts";

/**
 * Creates the detector of untracked writes: those of other programs to a SQLite file whose tables
 * have no triggers. It records them as a `touch` of each table, because the changed rows are
 * unknown. It notices them by the count of other connections' commits. If another process of the
 * service has recorded a change since the last count, the commits count as commits of that process.
 *
 * Writes while no process was running cannot be detected, because with a write-ahead log, the
 * file's change counter usually stays the same. Therefore a process records a `touch` at its start.
 */
export async function untrackedWriteDetector(
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

/** Statements that count the changes that this connection records, in a temporary table. */
const ownChangesCounter = [
  `CREATE TEMP TABLE IF NOT EXISTS "_service_own" (changes INTEGER NOT NULL)`,
  `INSERT INTO "_service_own" (changes) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM "_service_own")`,
  `CREATE TEMP TRIGGER IF NOT EXISTS "_service_own_changes" AFTER INSERT ON main."_service_changes"
    BEGIN UPDATE "_service_own" SET changes = changes + 1; END`,
];

interface Counts {
  /** A value that differs after every commit of another connection. */
  readonly commits: string;
  /** A value that differs if other connections have recorded or purged changes. */
  readonly recorded: string;
}

async function readCounts(connection: Connection): Promise<Counts> {
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
