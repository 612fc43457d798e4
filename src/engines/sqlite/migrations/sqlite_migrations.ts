import type { MigrationsEngine } from "../../../db/engine/migrations_engine.ts";
import { affinityOfType } from "../sql/column_type.ts";
import { sqliteSyntax } from "../sql/syntax.ts";
import { readFileIntegrity, requireFileIntegrity } from "./file_integrity.ts";
import { readSqliteShapes } from "./sqlite_shapes.ts";
import { convertedSql } from "./sqlite_rebuild.ts";
import { sqliteMigrationSteps } from "./sqlite_steps.ts";
import { cell, selectNamed } from "../../../db/named_columns.ts";
import { quoteIdentifier, quoteText } from "../../../sql/fragment.ts";
import { setUpSqliteLogWithin } from "../changes/set_up_sqlite_log.ts";
import { sqliteTriggerPrefix } from "../sql/change_log_schema.ts";
import { columnSqlOf } from "../sql/image_json.ts";
import { newStep } from "../../../db/migrations/plan/table_migration.ts";
import { hasEnoughDigits, typeParts } from "../../../db/migrations/plan/widened_types.ts";

export const sqliteMigrationsEngine: MigrationsEngine = {
  comparison: {
    syntax: sqliteSyntax,
    shapes: readSqliteShapes,
    declaredShape: (parsed) => parsed,
    isSameType: isSameSqliteType,
    written: null,
  },
  planning: {
    steps: sqliteMigrationSteps,
    // Each migration locks the whole file against other writes.
    lockOf: () => null,
    writtenParts: (steps) => {
      const rebuilds = steps.some(({ sql }) => sql.startsWith("PRAGMA legacy_alter_table"));
      const off = newStep("PRAGMA foreign_keys = OFF", "tables are created again");
      return [{ isApart: false, steps: rebuilds ? [off, ...steps] : steps }];
    },
    // SQLite checks foreign keys at the end of the transaction, so the order of drops is free.
    dropsTogether: false,
    renamesConstraints: false,
    references: {
      ...{ from: "t.name", to: 'k."table"' },
      rows:
        "FROM main.sqlite_schema AS t, pragma_foreign_key_list(t.name) AS k WHERE t.type = 'table'",
    },
    mayBeRename: (left, right) => affinityOfType(left) === affinityOfType(right),
    isWider: isWiderSqliteType,
    unfit: unfitForSqliteType,
    castsCanFail: false,
    conversion: convertedSql,
    cast: (value) => value,
  },
  running: {
    // `compare` writes nothing, because the file may be open only for reading.
    compare: (driver, work) => work(driver),
    async restructure(driver, work) {
      if (driver.restructure === undefined) {
        throw new Error(`Cannot migrate ${driver.label}: its driver cannot make tables again`);
      }
      return await driver.restructure(work);
    },
    apart: (driver, work) => work(driver),
    unusableIndexes: () => Promise.resolve([]),
    hasOneWriter: true,
    async integrity(connection) {
      const before = await readFileIntegrity(connection);
      return (tables, file) => requireFileIntegrity(connection, before, tables, file);
    },
    whyNot: () => null,
    turnsKeysOff: (statement) =>
      /^(?:\s|--[^\n]*\n)*PRAGMA\s+foreign_keys\s*=\s*(?:off|0|false|no)\s*$/i.test(statement),
  },
  recording: {
    // SQLite does not drop a column that a trigger names.
    async pause(connection) {
      const triggers = await selectNamed(
        connection,
        { name: cell.text("name"), table: cell.text("tbl_name"), sql: cell.text("sql") },
        "FROM main.sqlite_schema WHERE type = 'trigger' AND substr(name, 1, ?) = ?",
        sqliteTriggerPrefix.length,
        sqliteTriggerPrefix,
      );
      const inserts = triggers.filter(({ name }) => /_[0-9a-f]{16}_insert$/.test(name));
      const names = inserts.map(({ table }) => ({ schema: null, name: table }));
      const { tables } = await readSqliteShapes(connection, names);
      for (const { name } of triggers) {
        const text = `DROP TRIGGER main.${quoteIdentifier(name)}`;
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
        { sql: cell.text("sql"), isTemporary: cell.flag("temporary") },
        `FROM (SELECT sql, name, tbl_name, 0 AS temporary FROM main.sqlite_schema
         UNION ALL SELECT sql, name, tbl_name, 1 FROM temp.sqlite_schema)
       WHERE name LIKE ? ESCAPE '~' AND tbl_name = ? COLLATE NOCASE`,
        `${sqliteTriggerPrefix.replaceAll("_", "~_")}%~_insert`,
        name,
      );
      if (trigger === undefined) return null;
      const hidden = hiddenInTrigger(trigger.sql, columns);
      return { hidden, mode: trigger.isTemporary ? "service" : "triggers" };
    },
    async record(connection, table, { changes, random }) {
      await setUpSqliteLogWithin(connection, [table], changes, random);
    },
  },
};

function hiddenInTrigger(
  trigger: string,
  columns: readonly { readonly name: string }[],
): readonly string[] {
  const valueOf = columnSqlOf("NEW");
  return columns.flatMap(({ name }) =>
    trigger.includes(`${quoteText(name)}, CASE typeof(${valueOf(name)})`) ? [] : [name]
  );
}

/** Returns true if two types store the same values. Digits of decimals have no effect in SQLite. */
export function isSameSqliteType(wanted: string, has: string): boolean {
  if (wanted.toLowerCase() === has.toLowerCase()) return true;
  const digits = /\(\s*(\d+)\s*,\s*(\d+)\s*\)/;
  const [one, other] = [digits.exec(wanted), digits.exec(has)];
  const isSameNumber = one === null || other === null ||
    one[1] === other[1] && one[2] === other[2];
  return affinityOfType(wanted) === affinityOfType(has) && isSameNumber;
}

/** Returns true if a SQLite column of the type `to` can store every value of the type `from`. */
export function isWiderSqliteType(from: string, to: string): boolean {
  const [one, other] = [affinityOfType(from), affinityOfType(to)];
  const [before, after] = [typeParts(from), typeParts(to)];
  if (one === other) return hasEnoughDigits({ ...before, name: "numeric" }, after);
  if (other === "TEXT") return one === "INTEGER";
  if (other === "NUMERIC") return one === "INTEGER" && after.numbers.length === 0;
  // A column without a type stores all values unchanged.
  return other === "BLOB" && to === "";
}

/** Returns a condition for values that a CAST to the type would replace by another number. */
function unfitForSqliteType(type: string, column: string): string | null {
  if (!/INT|REAL|NUM/i.test(type)) return null;
  const isNoNumber = `typeof(${column}) IN ('text', 'blob') AND ` +
    `(${column} = '' OR ${column} GLOB '*[^-+.0-9eE]*')`;
  // A CAST to an integer replaces larger numbers by the largest integer.
  const isTooLarge = `abs(CAST(${column} AS REAL)) >= 9223372036854775808.0`;
  return affinityOfType(type) === "INTEGER" ? `${isNoNumber} OR ${isTooLarge}` : isNoNumber;
}
