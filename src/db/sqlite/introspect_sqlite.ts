import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { identifier, join, sql, type SqlValue, toStatement } from "../../sql/fragment.ts";
import type { Connection, Driver } from "../driver.ts";
import { sqliteEnumChecks } from "../tables/enum_checks.ts";
import { selectNamed } from "../named_columns.ts";
import {
  type ColumnDraft,
  completeDrafts,
  type ForeignKeyDraft,
  type Introspection,
  isInternal,
  type LeftOut,
  type TableDraft,
} from "../introspection.ts";
import { defaultTimestamps } from "../../sql/sqlite/timestamps.ts";
import { inferColumnTypes, type InferredType } from "./tables/infer_column_types.ts";
import { repeatableDefault } from "./default_clause.ts";
import { rowIdColumn } from "./tables/row_id_column.ts";
import { shadowTables } from "./tables/shadow_tables.ts";

/** Describes the tables of a SQLite file, from its PRAGMAs and a few of its rows. */
export async function introspectSqlite(driver: Driver): Promise<Introspection> {
  const listed = await listTables(driver);
  const [columns, foreignKeys, uniques] = await Promise.all([
    readColumns(driver),
    readForeignKeys(driver),
    readUniques(driver),
  ]);
  const drafts: TableDraft[] = [];
  for (const table of listed.tables) {
    const of = <R extends { readonly owner: string }>(rows: readonly R[]) =>
      rows.filter(({ owner }) => owner === table.name);
    drafts.push(
      await draftTable(driver, {
        table,
        columns: of(columns),
        foreignKeys: of(foreignKeys),
        uniques: of(uniques),
      }),
    );
  }
  return { tables: completeDrafts(drafts), leftOut: listed.leftOut };
}

interface ListedTable {
  readonly name: string;
  readonly withoutRowid: boolean;
  /** The CREATE TABLE statement. */
  readonly sql: string;
}

async function listTables(
  connection: Connection,
): Promise<{ tables: readonly ListedTable[]; leftOut: readonly LeftOut[] }> {
  const rows = await selectNamed(
    connection,
    { name: "l.name", type: "l.type", withoutRowid: "l.wr", sql: "coalesce(m.sql, '')" },
    `FROM pragma_table_list AS l JOIN sqlite_schema AS m ON m.name = l.name
     WHERE l.schema = 'main' AND m.type IN ('table', 'view') ORDER BY l.name`,
  );
  const all = rows.map(({ name, type, withoutRowid, sql }) => ({
    name: String(name),
    type: String(type),
    withoutRowid: withoutRowid === 1,
    sql: String(sql),
  }));
  const shadows = shadowTables(all, await readModules(connection));
  const introspected = all.filter(({ name }) => !isInternal(name) && !shadows.has(name));
  return {
    tables: introspected.filter(({ type }) => type === "table"),
    leftOut: introspected.flatMap(({ name, type }) => {
      const reason = reasons.get(type);
      return reason === undefined ? [] : [{ table: name, reason }];
    }),
  };
}

/** The modules of virtual tables that the library has. */
async function readModules(connection: Connection): Promise<ReadonlySet<string>> {
  const rows = await selectNamed(connection, { name: "lower(name)" }, "FROM pragma_module_list");
  return new Set(rows.map(({ name }) => String(name)));
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["view", "it is a view, which has no primary key"],
  ["virtual", "it is a virtual table"],
]);

interface ColumnRow {
  readonly owner: string;
  readonly name: string;
  readonly type: string;
  readonly notNull: boolean;
  readonly defaultSql: string | null;
  /** Its position in the key from 1, or 0. */
  readonly keyPosition: number;
  readonly generated: boolean;
}

async function readColumns(connection: Connection): Promise<readonly ColumnRow[]> {
  const rows = await selectNamed(
    connection,
    {
      owner: "t.name",
      name: "c.name",
      type: "c.type",
      notNull: `c."notnull"`,
      defaultSql: "c.dflt_value",
      keyPosition: "c.pk",
      hidden: "c.hidden",
    },
    `FROM pragma_table_list AS t JOIN pragma_table_xinfo(t.name) AS c
     WHERE t.schema = 'main' AND t.type = 'table' ORDER BY t.name, c.cid`,
  );
  return rows.map(({ owner, name, type, notNull, defaultSql, keyPosition, hidden }) => ({
    owner: String(owner),
    name: String(name),
    type: String(type),
    notNull: notNull === 1,
    defaultSql: defaultSql === null ? null : String(defaultSql),
    keyPosition: Number(keyPosition),
    // 2 is VIRTUAL, 3 is STORED.
    generated: hidden === 2 || hidden === 3,
  }));
}

async function readForeignKeys(
  connection: Connection,
): Promise<readonly (ForeignKeyDraft & { readonly owner: string })[]> {
  const rows = await selectNamed(
    connection,
    {
      owner: "t.name",
      table: `f."table"`,
      from: `json_group_array(f."from" ORDER BY f.seq)`,
      to: `json_group_array(f."to" ORDER BY f.seq)`,
    },
    `FROM pragma_table_list AS t JOIN pragma_foreign_key_list(t.name) AS f
     WHERE t.schema = 'main' AND t.type = 'table'
     GROUP BY t.name, f.id ORDER BY t.name, f.id DESC`,
  );
  return rows.map(({ owner, table, from, to }) => {
    const references = names(to);
    return {
      owner: String(owner),
      table: String(table),
      columns: names(from).map(String),
      references: references.includes(null) ? null : references.map(String),
    };
  });
}

interface UniqueIndex {
  readonly owner: string;
  /** Whether it is the index of the key: a key without one is the row id. */
  readonly isKey: boolean;
  /** Null is an expression. */
  readonly columns: readonly (string | null)[];
}

async function readUniques(connection: Connection): Promise<readonly UniqueIndex[]> {
  const rows = await selectNamed(
    connection,
    { owner: "t.name", isKey: "i.origin = 'pk'", columns: "json_group_array(c.name)" },
    `FROM pragma_table_list AS t JOIN pragma_index_list(t.name) AS i
     JOIN pragma_index_info(i.name) AS c
     WHERE t.schema = 'main' AND t.type = 'table' AND i."unique" AND NOT i.partial
     GROUP BY t.name, i.name, i.origin`,
  );
  return rows.map(({ owner, isKey, columns }) => ({
    owner: String(owner),
    isKey: isKey === 1,
    columns: names(columns),
  }));
}

interface TableFacts {
  readonly table: ListedTable;
  readonly columns: readonly ColumnRow[];
  readonly foreignKeys: readonly ForeignKeyDraft[];
  readonly uniques: readonly UniqueIndex[];
}

async function draftTable(driver: Driver, facts: TableFacts): Promise<TableDraft> {
  const { table, columns, uniques } = facts;
  const key = columns
    .filter(({ keyPosition }) => keyPosition > 0)
    .sort((left, right) => left.keyPosition - right.keyPosition);
  const countsUp = key.length === 1 && !uniques.some(({ isKey }) => isKey);
  const [sample, hasNullKey] = await Promise.all([
    readSample(driver, table, columns),
    countsUp || table.withoutRowid ? false : readHasNull(driver, table, key),
  ]);
  const enums = sqliteEnumChecks(table.sql);
  const rowId = key.length === 0 ? rowIdColumn(columns.map(({ name }) => name)) : null;
  return {
    name: table.name,
    schema: null,
    isView: false,
    key: rowId === null ? key.map(({ name }) => name) : [rowId.dbName],
    foreignKeys: facts.foreignKeys,
    columns: [...(rowId === null ? [] : [rowId])].concat(
      columns.map((column, index): ColumnDraft => {
        const values = sample.flatMap((row) => row[index] ?? []);
        const type = fittingType(inferColumnTypes(column.type, values), values, driver.dialect);
        const isKey = column.keyPosition > 0;
        return {
          ...type,
          name: column.name,
          dbName: column.name,
          // In SQLite a key column may hold NULL unless it is declared otherwise, but hardly ever does.
          notNull: column.notNull || isKey && !hasNullKey,
          unique: uniques.some((unique) =>
            !unique.isKey && unique.columns.length === 1 && unique.columns[0] === column.name
          ),
          generated: column.generated,
          defaultSql: isKey && countsUp ? "the next row id" : repeatableDefault(column.defaultSql),
          enumValues: type.kind === "text" ? enums.get(column.name.toLowerCase()) ?? null : null,
          existingType: column.type,
          looseCollation: false,
        };
      }),
    ),
  };
}

/** Some values of each column; of long ones the beginning, which is enough to infer a type. */
async function readSample(
  connection: Connection,
  table: ListedTable,
  columns: readonly ColumnRow[],
): Promise<readonly (readonly SqlValue[])[]> {
  const values = columns.map(({ name }) => {
    const column = identifier(name);
    return sql`CASE typeof(${column}) WHEN 'text' THEN substr(${column}, 1, 64)
      WHEN 'blob' THEN x'' ELSE ${column} END`;
  });
  const query = sql`SELECT ${join(values, ", ")} FROM ${identifier(table.name)} LIMIT 200`;
  return (await connection.query(toStatement(query, () => "?"))).rows;
}

async function readHasNull(
  connection: Connection,
  table: ListedTable,
  key: readonly ColumnRow[],
): Promise<boolean> {
  const open = key.filter(({ notNull }) => !notNull);
  if (open.length === 0) return false;
  const isNull = join(open.map(({ name }) => sql`${identifier(name)} IS NULL`), " OR ");
  const query = sql`SELECT 1 FROM ${identifier(table.name)} WHERE ${isNull} LIMIT 1`;
  return (await connection.query(toStatement(query, () => "?"))).rows.length > 0;
}

/** The first type that all values have; the last one fits any. */
function fittingType(
  types: readonly InferredType[],
  values: readonly SqlValue[],
  dialect: Dialect,
): InferredType {
  const fitting = types.find((type) => {
    // The sample has the beginning of a document, which is no document.
    if (type.kind === "json") return true;
    const column: ColumnInfo = { ...bareColumn, ...type };
    let fits = true;
    for (const value of values) dialect.decode(value, column, () => fits = false);
    return fits;
  });
  return fitting ?? types.at(-1) ?? bareColumn;
}

const bareColumn: ColumnInfo = {
  name: "",
  dbName: "",
  kind: "text",
  notNull: false,
  primaryKey: false,
  unique: false,
  default: null,
  generated: false,
  enumValues: null,
  precision: null,
  scale: null,
  maxLength: null,
  references: null,
  existingType: "",
  looseCollation: false,
  timestampFormat: defaultTimestamps,
};

function names(json: SqlValue): (string | null)[] {
  return JSON.parse(String(json));
}
