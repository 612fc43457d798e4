import { rawJsonMembers } from "../../../schema/exact_json.ts";
import type { ColumnInfo, TableInfo } from "../../../schema/table_info.ts";
import { quoteIdentifier, sqlName, type SqlValue } from "../../../sql/fragment.ts";
import type { ChangesEngine } from "../../../db/engine/engine.ts";
import { decodePostgresCell, logTableNameSql } from "../sql/change_log_schema.ts";
import { postgresVersions } from "../sql/history_schema.ts";
import { openPostgresChangeLog } from "./postgres_change_log.ts";
import { type PostgresLogTable, setUpPostgresLog } from "./set_up_postgres_log.ts";
import type { Driver } from "../../../db/driver.ts";
import { WriteRecorder } from "./write_recorder.ts";
import { selectNamed } from "../../../db/named_columns.ts";
import type { ResolvedChangesOptions } from "../../../db/changes/changes_options.ts";

export const postgresChangesEngine: ChangesEngine = {
  async setUp({ driver, tables, changes, random }) {
    const { mode, exclude } = changes;
    const described = await setUpPostgresLog(driver, tables, changes, random);
    const unwatched = described.filter(({ isWatched }) => !isWatched);
    return {
      untracked: unwatched.map(({ table }) => table),
      findUntracked: () => Promise.resolve(null),
      open: (options) => openPostgresChangeLog({ driver, tables: described, random, ...options }),
      // The driver records writes only to tables that have no triggers.
      recordingDriver: () =>
        mode === "service" && unwatched.length > 0
          ? recordingDriver(driver, unwatched, exclude)
          : driver,
    };
  },
  images: { parse: rawJsonMembers, decodeCell: decodePostgresCell },
  // Each poll notifies the readers without a check: a check would take as long as reading the log.
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
  versions: postgresVersions,
  untrackedConsequence: "streams do not see what other programs, custom routes and triggers write",
  ownWrites: "Live streams show what this service writes, and not what other programs write",
  whyForbidden: whyNoChangeLog,
};

export function recordingDriver(
  driver: Driver,
  tables: readonly PostgresLogTable[],
  exclude: ReadonlySet<ColumnInfo>,
): Driver {
  const recorder = new WriteRecorder(driver, tables, exclude);
  return {
    dialect: driver.dialect,
    label: driver.label,
    isShared: driver.isShared,
    signals: driver.signals,
    created: driver.created,
    async query(statement) {
      const writes = await recorder.writesOf(statement, driver);
      return writes === null
        ? await driver.query(statement)
        : await driver.transaction((connection) => recorder.run(writes, connection));
    },
    reads: (limits) => driver.reads(limits),
    limited: (limits, work) => driver.limited?.(limits, work) ?? work(),
    transaction: (work) =>
      driver.transaction((connection) =>
        work({
          async query(statement) {
            const writes = await recorder.writesOf(statement, connection);
            return writes === null
              ? await connection.query(statement)
              : await recorder.run(writes, connection);
          },
        })
      ),
    onCommit: (listener) => driver.onCommit(listener),
    renewConnections: () => driver.renewConnections?.(),
    close: () => driver.close(),
  };
}

export async function whyNoChangeLog(
  driver: Driver,
  tables: readonly TableInfo[],
  { mode, schema }: Pick<ResolvedChangesOptions, "mode" | "schema">,
): Promise<string> {
  const [found] = await selectNamed(
    driver,
    {
      role: "current_user",
      schema: "coalesce($1, current_schema())",
      mayCreate: "coalesce(has_schema_privilege(coalesce($1, current_schema()), 'CREATE'), false)",
      hasLog: "to_regclass('_service_changes') IS NOT NULL",
      others: `(SELECT json_agg(c.relname ORDER BY c.relname)
      FROM json_array_elements_text($2::json) AS t(name) JOIN pg_class c ON c.oid = to_regclass(name)
      WHERE NOT pg_has_role(c.relowner, 'USAGE'))`,
    },
    "",
    schema,
    JSON.stringify(tables.map(sqlName)),
  );
  const others: readonly string[] = JSON.parse(String(found?.others ?? "null")) ?? [];
  const role = `the role "${found?.role}"`;
  if (found?.hasLog !== "t" && found?.mayCreate !== "t") {
    const place = `the schema "${found?.schema}"`;
    return `A log of changes needs tables, and ${role} may create none in ${place}: ` +
      `GRANT CREATE ON SCHEMA ${quoted(found?.schema)} TO ${
        quoted(found?.role)
      }, or name a schema where it may ` +
      "by --changes-schema; without the log nothing else is missing";
  }
  if (mode === "triggers" && others.length > 0) {
    const [first, ...more] = others;
    const names = more.length === 0 ? `"${first}"` : `"${first}" and ${more.length} more`;
    return `Only the owner of a table may have triggers on it that always run, and ${role} does not ` +
      `own ${names}: so changes are recorded as by changes: { mode: "service" }`;
  }
  return `The log of changes, _service_changes, belongs to another role, and ${role} lacks rights ` +
    "on it and the other tables _service_*: GRANT ALL on them, or ON ALL TABLES of their schema";
}

function quoted(name: SqlValue | undefined): string {
  return quoteIdentifier(String(name));
}
