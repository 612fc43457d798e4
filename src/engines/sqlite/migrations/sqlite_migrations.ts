import type { MigrationsEngine } from "../../../db/engine/migrations_engine.ts";
import { affinityOfType } from "../sql/column_type.ts";
import { sqliteSyntax } from "../sql/syntax.ts";
import { convertedSql } from "./sqlite_rebuild.ts";
import { sqliteMigrationSteps } from "./sqlite_steps.ts";
import { cell, selectNamed } from "../../../db/named_columns.ts";
import { quoteIdentifier, quoteText } from "../../../sql/fragment.ts";
import { setUpSqliteLogWithin } from "../changes/set_up_sqlite_log.ts";
import { sqliteTriggerPrefix } from "../sql/change_log_schema.ts";
import { columnSqlOf } from "../sql/image_json.ts";
import { newStep } from "../../../db/migrations/plan/table_migration.ts";
import { hasEnoughDigits, typeParts } from "../../../db/migrations/plan/widened_types.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import { DatabaseError, reasonOf } from "../../../db/database_error.ts";
import type { Connection } from "../../../db/driver.ts";
import { parseCreateTable } from "../../../sql/statements/parse_create_table.ts";
import {
  type ExistingShapes,
  parsedShape,
  type TableName,
  type TableShape,
} from "../../../db/migrations/compare/table_shape.ts";

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
    // No step takes a separate lock: a migration locks the whole file against other writes.
    lockOf: () => null,
    writtenParts: (steps) => {
      const rebuilds = steps.some(({ sql }) => sql.startsWith("PRAGMA legacy_alter_table"));
      const off = newStep("PRAGMA foreign_keys = OFF", "tables are created again");
      return [{ isApart: false, steps: rebuilds ? [off, ...steps] : steps }];
    },
    // SQLite checks foreign keys at the end of the transaction, so any order of drops works.
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
    asItself: (_connection, work) => work(),
    undoSettings: (statements) =>
      statements.flatMap((statement) => {
        const name = setting.exec(statement)?.[1]?.toLowerCase() ?? "";
        const value = ownSettings.get(name);
        return value === undefined ? [] : [`PRAGMA ${name} = ${value}`];
      }),
    unusableIndexes: () => Promise.resolve([]),
    hasOneWriter: true,
    async integrity(connection) {
      const before = await readFileIntegrity(connection);
      return (tables, file) => requireFileIntegrity(connection, before, tables, file);
    },
    whyNot: () => null,
    turnsKeysOff: (statement) => keysOff.test(statement),
  },
  recording: {
    // The triggers are dropped, because SQLite does not drop a column that a trigger names.
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

const keysOff =
  /^(?:\s|--[^\n]*\n|\/\*[^]*?\*\/)*PRAGMA\s+(?:\w+\s*\.\s*)?foreign_keys\s*[=(]\s*["']?(?:off|0|false|no)\b/i;

const setting = /^(?:\s|--[^\n]*\n|\/\*[^]*?\*\/)*PRAGMA\s+(?:\w+\.)?(\w+)/i;

/** The settings of a writing connection that change the meaning of later statements. */
const ownSettings: ReadonlyMap<string, string> = new Map([
  ...["foreign_keys", "trusted_schema", "automatic_index"].map((name) => [name, "ON"] as const),
  ...["case_sensitive_like", "ignore_check_constraints", "legacy_alter_table", "query_only"]
    .map((name) => [name, "OFF"] as const),
  ...["read_uncommitted", "recursive_triggers", "reverse_unordered_selects", "writable_schema"]
    .map((name) => [name, "OFF"] as const),
  ...[["synchronous", "FULL"], ["locking_mode", "NORMAL"], ["temp_store", "DEFAULT"]] as const,
]);

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
  const isSameNumber = one === null || other === null || one[1] === other[1] && one[2] === other[2];
  return affinityOfType(wanted) === affinityOfType(has) && isSameNumber;
}

export function isWiderSqliteType(from: string, to: string): boolean {
  const [one, other] = [affinityOfType(from), affinityOfType(to)];
  const [before, after] = [typeParts(from), typeParts(to)];
  if (one === other) return hasEnoughDigits({ ...before, name: "numeric" }, after);
  if (other === "TEXT") return one === "INTEGER";
  if (other === "NUMERIC") return one === "INTEGER" && after.numbers.length === 0;
  return other === "BLOB" && to === "";
}

function unfitForSqliteType(type: string, column: string): string | null {
  if (!/INT|REAL|NUM/i.test(type)) return null;
  const isNoNumber = `typeof(${column}) IN ('text', 'blob') AND ` +
    `(${column} = '' OR ${column} GLOB '*[^-+.0-9eE]*')`;
  // A CAST to an integer replaces numbers of more than 64 bits by the largest or smallest integer.
  const isTooLarge = `abs(CAST(${column} AS REAL)) >= 9223372036854775808.0`;
  return affinityOfType(type) === "INTEGER" ? `${isNoNumber} OR ${isTooLarge}` : isNoNumber;
}

/** The references and views of a file. A rebuild must not break those that were intact. */
interface FileIntegrity {
  readonly broken: number;
  readonly dangling: ReadonlySet<string>;
  readonly views: ReadonlySet<string>;
}

async function readFileIntegrity(connection: Connection): Promise<FileIntegrity> {
  const views = await selectNamed(
    connection,
    { name: "name" },
    "FROM main.sqlite_schema WHERE type = 'view'",
  );
  const readable = new Set<string>();
  for (const { name } of views) {
    if (await whyNot(connection, readNothing(String(name))) === null) readable.add(String(name));
  }
  return {
    broken: await brokenReferences(connection),
    dangling: await danglingTables(connection),
    views: readable,
  };
}

/** Checks the foreign keys, views and triggers of rebuilt tables, because SQLite does not. */
async function requireFileIntegrity(
  connection: Connection,
  before: FileIntegrity,
  tables: readonly TableInfo[],
  file: string | null = null,
): Promise<void> {
  const refused = (reason: string) =>
    new Error(`Cannot migrate: ${file === null ? "" : `${file}: `}${reason}`);
  for (const reference of await danglingTables(connection)) {
    if (before.dangling.has(reference)) continue;
    throw refused(`${reference}, which would not be there any more`);
  }
  if (await brokenReferences(connection) > before.broken) {
    throw refused("rows would refer to rows that are not there");
  }
  for (const name of before.views) {
    const reason = await whyNot(connection, readNothing(name));
    if (reason === null) continue;
    throw refused(`the view ${name} would not work any more: ${reason}`);
  }
  for (const { name } of tables) {
    const reason = await whyNot(connection, `EXPLAIN DELETE FROM ${quoteIdentifier(name)}`) ??
      await whyNot(connection, `EXPLAIN INSERT INTO ${quoteIdentifier(name)} DEFAULT VALUES`);
    if (reason === null) continue;
    throw refused(`a trigger of ${name} would not work any more: ${reason}`);
  }
}

async function brokenReferences(connection: Connection): Promise<number> {
  const [row] = await selectNamed(
    connection,
    { count: "count(*)" },
    "FROM pragma_foreign_key_check",
  );
  return Number(row?.count);
}

async function danglingTables(connection: Connection): Promise<ReadonlySet<string>> {
  const rows = await selectNamed(
    connection,
    { from: "t.name", to: `k."table"` },
    `FROM main.sqlite_schema AS t, pragma_foreign_key_list(t.name) AS k
     WHERE t.type = 'table' AND NOT EXISTS (
       SELECT 1 FROM main.sqlite_schema AS p
       WHERE p.type = 'table' AND p.name = k."table" COLLATE NOCASE
     )`,
  );
  return new Set(rows.map(({ from, to }) => `${from} refers to ${to}`));
}

function readNothing(view: string): string {
  return `SELECT 1 FROM ${quoteIdentifier(view)} LIMIT 0`;
}

async function whyNot(connection: Connection, text: string): Promise<string | null> {
  try {
    await connection.query({ text, values: [] });
    return null;
  } catch (error) {
    if (error instanceof DatabaseError) return reasonOf(error);
    throw error;
  }
}

async function readSqliteShapes(
  connection: Connection,
  names: readonly TableName[],
): Promise<ExistingShapes> {
  const found = await selectNamed(
    connection,
    {
      type: cell.text("type"),
      name: cell.text("name"),
      table: cell.text("lower(tbl_name)"),
      sql: cell.text("sql"),
    },
    `FROM main.sqlite_schema WHERE type IN ('table', 'index', 'view') AND sql IS NOT NULL
     ORDER BY rowid`,
  );
  const wanted = new Set(names.map(({ name }) => name.toLowerCase()));
  const asked = found.filter(({ type, table }) => type !== "index" && wanted.has(table));
  const isTable = ({ type, sql }: { type: string; sql: string }) =>
    type === "table" && !/^\s*CREATE\s+VIRTUAL\b/i.test(sql);
  const keyOf = (table: string) => {
    const target = found.find((one) => isTable(one) && one.table === table.toLowerCase());
    return target === undefined ? [] : declaredKey(target.sql);
  };
  return {
    tables: asked.filter(isTable).map(({ name, table, sql }): TableShape =>
      parsedShape({
        ...{ schema: null, name, createTable: sql, keyOf },
        createIndexes: found.filter((one) => one.type === "index" && one.table === table)
          .map(({ sql }) => sql),
      })
    ),
    others: asked.filter((one) => !isTable(one)).map(({ name }) => ({ schema: null, name })),
  };
}

function declaredKey(createTable: string): readonly string[] {
  for (const { constraints } of parseCreateTable(createTable).definitions) {
    for (const one of constraints) if (one.kind === "key") return one.columns;
  }
  return [];
}
