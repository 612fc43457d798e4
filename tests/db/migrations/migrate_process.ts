/**
 * Migrates the tracker of a database to its newest version, and ends itself like a crash after a
 * statement: `migrate_process.ts URL NUMBER`, from 1, of those that write; 0 for none.
 */
import type { Connection, Driver } from "../../../src/db/driver.ts";
import { migrateTables } from "../../../src/db/migrations/migrate_tables.ts";
import { openDatabase } from "../../../src/engines/open_database.ts";
import type { Statement } from "../../../src/sql/fragment.ts";
import { allowDrop, newest, trackerTables } from "./tracker_versions.ts";

const [url = "", killAt = "0"] = Deno.args;
const db = await openDatabase(url, { waitLimitMs: 60_000 });
let count = 0;

/** Counts what writes; nothing of this process is done once it has killed itself. */
function counted(): void {
  if (++count === Number(killAt)) Deno.kill(Deno.pid, "SIGKILL");
}

function mortal(connection: Connection): Connection {
  return {
    query(statement: Statement) {
      const result = connection.query(statement);
      if (!/^\s*(?:SELECT|EXPLAIN)\b/i.test(statement.text)) counted();
      return result;
    },
  };
}

const { driver } = db;
const mortalDriver: Driver = {
  dialect: driver.dialect,
  label: driver.label,
  isShared: driver.isShared,
  signals: null,
  query: (statement) => driver.query(statement),
  reads: (limits) => driver.reads(limits),
  async transaction(work) {
    const result = await driver.transaction((connection) => work(mortal(connection)));
    counted();
    return result;
  },
  ...(driver.restructure === undefined ? {} : {
    async restructure<T>(work: (connection: Connection) => Promise<T> | T): Promise<T> {
      const result = await driver.restructure?.((connection) => work(mortal(connection)));
      counted();
      // The member is there, or this function is not.
      return result as T;
    },
  }),
  onCommit: (listener) => driver.onCommit(listener),
  close: () => driver.close(),
};

const { isApplied } = await migrateTables({
  ...{ driver: mortalDriver, tables: trackerTables(newest), allowDrop, keep: [], dryRun: false },
  ...{
    agreed: null,
    random: { bytes: (length) => crypto.getRandomValues(new Uint8Array(length)) },
  },
});
console.log(isApplied ? "applied" : "nothing", count);
await db.close();
