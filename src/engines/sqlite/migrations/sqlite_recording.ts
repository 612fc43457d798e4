import type { RecordingEngine } from "../../../db/engine/migrations_engine.ts";
import { selectNamed } from "../../../db/named_columns.ts";
import { quoteIdentifier } from "../../../sql/fragment.ts";
import { setUpSqliteLogWithin } from "../changes/set_up_sqlite_log.ts";
import { sqliteTriggerPrefix } from "../sql/change_log_schema.ts";
import { columnSqlOf, sqliteLiteral } from "../sql/image_json.ts";
import { readSqliteShapes } from "./sqlite_shapes.ts";

/** The change log of SQLite during a migration. */
export const sqliteRecordingEngine: RecordingEngine = {
  // SQLite refuses to drop a column that a trigger names.
  async pause(connection) {
    const triggers = await selectNamed(
      connection,
      { name: "name", table: "tbl_name", sql: "sql" },
      "FROM main.sqlite_schema WHERE type = 'trigger' AND substr(name, 1, ?) = ?",
      sqliteTriggerPrefix.length,
      sqliteTriggerPrefix,
    );
    const inserts = triggers.filter(({ name }) => /_[0-9a-f]{16}_insert$/.test(String(name)));
    const names = inserts.map(({ table }) => ({ schema: null, name: String(table) }));
    const { tables } = await readSqliteShapes(connection, names);
    for (const { name } of triggers) {
      const text = `DROP TRIGGER main.${quoteIdentifier(String(name))}`;
      await connection.query({ text, values: [] });
    }
    return tables.map(({ schema, name, columns }) => {
      const sql = String(inserts.find(({ table }) => table === name)?.sql);
      return { schema, name, hidden: hiddenInTrigger(sql, columns) };
    });
  },
  resumed: (_connection, paused) => Promise.resolve(paused),
  async of(connection, { name, columns }) {
    const [trigger] = await selectNamed(
      connection,
      { sql: "sql", isTemporary: "temporary" },
      `FROM (SELECT sql, name, tbl_name, 0 AS temporary FROM main.sqlite_schema
       UNION ALL SELECT sql, name, tbl_name, 1 FROM temp.sqlite_schema)
     WHERE name LIKE ? ESCAPE '~' AND tbl_name = ? COLLATE NOCASE`,
      `${sqliteTriggerPrefix.replaceAll("_", "~_")}%~_insert`,
      name,
    );
    if (trigger === undefined) return null;
    const hidden = hiddenInTrigger(String(trigger.sql), columns);
    return { hidden, mode: Number(trigger.isTemporary) === 1 ? "service" : "triggers" };
  },
  async record(connection, table, { changes, random }) {
    await setUpSqliteLogWithin(connection, [table], changes, random);
  },
};

function hiddenInTrigger(
  trigger: string,
  columns: readonly { readonly name: string }[],
): readonly string[] {
  const valueOf = columnSqlOf("NEW");
  return columns.flatMap(({ name }) =>
    trigger.includes(`${sqliteLiteral(name)}, CASE typeof(${valueOf(name)})`) ? [] : [name]
  );
}
