import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { ImageDialect, ListNames, RowImages } from "../../../sql/dialect.ts";
import {
  type Fragment,
  identifier,
  join,
  rawSql,
  sql,
  type SqlValue,
} from "../../../sql/fragment.ts";
import { affinityOf } from "./column_type.ts";
import { writeJson } from "../../../schema/exact_json.ts";
import { isAny } from "../../../schema/structured/structured_value.ts";

export const sqliteImages: ImageDialect = {
  // Each row is a SELECT in a UNION ALL, of which SQLite allows 500.
  maxRows: 100,
  // A batch never mixes numbers and strings in a column, because SQLite would convert the strings.
  batchKey: (row, columns) =>
    columns.map((column, index) => fits(row[index] ?? null, column) ? "+" : "-").join(""),
  from,
};

/**
 * Returns one table expression: an empty SELECT of the table, and then a SELECT for each row.
 * SQLite takes a column's affinity and collation from the first SELECT, unless a later value can
 * have another class. The casts prevent that, and do not change valid values. An invalid value,
 * such as a string in a number column, is not cast. Its column then has no affinity, so SQLite does
 * not convert a compared value, which could not equal the invalid value anyway.
 */
function from({ table, from, columns, rows, ordinal }: RowImages): Fragment {
  const names = columns.map(({ dbName }) => identifier(dbName));
  const none = sql`SELECT ${join([sql`0 AS ${identifier(ordinal)}`, ...names], ", ")}`;
  const images = rows.map((row, index) => {
    const cells = columns.map((column, at) => cell(row[at] ?? null, column));
    return sql`SELECT ${join([rawSql(String(index + 1)), ...cells], ", ")}`;
  });
  const all = join([sql`${none} FROM ${from} WHERE 0`, ...images], " UNION ALL ");
  // With a LIMIT, SQLite does not copy the outer query's conditions into each of the SELECTs.
  return sql`(${all} LIMIT -1) AS ${identifier(table.name)}`;
}

function cell(value: SqlValue, column: ColumnInfo): Fragment {
  const affinity = affinityOf(column);
  if (affinity === "BLOB" || !fits(value, column)) return bound(value);
  // A column with INTEGER affinity can contain fractions, which a cast to INTEGER would truncate.
  return sql`CAST(${bound(value)} AS ${rawSql(affinity === "INTEGER" ? "NUMERIC" : affinity)})`;
}

/** Another program can have stored a string with a NUL, which not every library can bind. */
function bound(value: SqlValue): Fragment {
  return typeof value === "string" && value.includes("\0")
    ? sql`CAST(${new TextEncoder().encode(value)} AS TEXT)`
    : sql`${value}`;
}

function fits(value: SqlValue, column: ColumnInfo): boolean {
  switch (affinityOf(column)) {
    case "BLOB":
      return true;
    case "TEXT":
      return value === null || typeof value === "string";
    default:
      return value === null || typeof value === "number" || typeof value === "bigint";
  }
}

export function keysAsTable(
  keys: readonly (readonly SqlValue[])[],
  columns: readonly ColumnInfo[],
  others: readonly ColumnInfo[],
  { ordinal, values }: ListNames,
): Fragment {
  const isLone = values.length === 1;
  const cells = values.map((name, index) =>
    isLone ? sql`value AS ${name}` : sql`json_extract(value, ${rawSql(`'$[${index}]'`)}) AS ${name}`
  );
  const compared = columns.some(isAny) ? keys.map((key) => comparable(key, columns, others)) : keys;
  const items = writeJson(isLone ? compared.map(([value]) => value) : compared);
  return sql`(SELECT key AS ${ordinal}, ${join(cells, ", ")} FROM json_each(${items}))`;
}

function comparable(
  key: readonly SqlValue[],
  columns: readonly ColumnInfo[],
  others: readonly ColumnInfo[],
): readonly SqlValue[] {
  const affinityAt = (list: readonly ColumnInfo[], index: number) => {
    const column = list[index];
    return column === undefined ? null : affinityOf(column);
  };
  return key.map((value, index) =>
    (typeof value === "number" || typeof value === "bigint") &&
      affinityAt(columns, index) !== "BLOB" && affinityAt(others, index) === "TEXT"
      ? String(value)
      : value
  );
}
