import { jsonMembers } from "../../../schema/exact_json.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import { sqlName, type SqlValue } from "../../../sql/fragment.ts";
import type { ChangesEngine } from "../../../db/engine/changes_engine.ts";
import { decodePostgresCell, logTableNameSql } from "../sql/change_log_schema.ts";
import { openPostgresChangeLog } from "./postgres_change_log.ts";
import { recordingDriver } from "./recording_driver.ts";
import { setUpPostgresLog } from "./set_up_postgres_log.ts";
import { whyNoChangeLog } from "./why_no_change_log.ts";

/** The change log of Postgres. Triggers, or the driver that writes rows, record the changes. */
export const postgresChangesEngine: ChangesEngine = {
  async setUp({ driver, tables, changes: { mode, schema, exclude }, random }) {
    const described = await setUpPostgresLog(driver, tables, { mode, schema, exclude }, random);
    const unwatched = described.filter(({ isWatched }) => !isWatched);
    return {
      untracked: unwatched.map(({ table }) => table),
      findUntracked: () => Promise.resolve(null),
      open: (options) => openPostgresChangeLog({ driver, tables: described, random, ...options }),
      // The driver records only writes to tables without triggers.
      recordingDriver: () =>
        mode === "service" && unwatched.length > 0
          ? recordingDriver(driver, unwatched, exclude)
          : driver,
    };
  },
  images: { parse: jsonMembers, decodeCell: decodePostgresCell },
  // A check for new changes would take as long as reading them.
  polling: (_driver, { notify }) => ({
    poll: () => {
      notify();
      return Promise.resolve(false);
    },
    minMs: 100,
    maxMs: 500,
  }),
  mark: null,
  changesSince: (table) => ({
    text: `SELECT seq, coalesce(after, before) FROM "_service_changes"
      WHERE xid = pg_current_xact_id() AND "table" = ${logTableNameSql("$1")}
        AND coalesce(after, before) IS NOT NULL`,
    values: [sqlName(table)],
  }),
  history: {
    isTable: (table, place) => `"table" = ${logTableNameSql(place(sqlName(table)))}`,
    mayHave,
    at: "(extract(epoch FROM at) * 1000)::bigint",
    before: "before::text",
    after: "after::text",
  },
  untrackedConsequence: "streams do not see what other programs, custom routes and triggers write",
  ownWrites: "Live streams show what this service writes, and not what other programs write",
  whyForbidden: whyNoChangeLog,
};

function mayHave(
  { dbName, existingType }: ColumnInfo,
  value: string,
  image: string,
  place: (value: SqlValue) => string,
): string {
  // In a row image, the database pads a string of type `char(n)` with spaces.
  const isPadded = existingType !== null && /char/i.test(existingType);
  if (isPadded) return "true";
  return `(${image} ->> ${place(dbName)}::text) = ${place(value)}::text`;
}
