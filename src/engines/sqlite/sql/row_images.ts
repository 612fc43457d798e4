import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { ImageDialect, RowImages } from "../../../sql/dialect.ts";
import {
  type Fragment,
  identifier,
  join,
  rawSql,
  sql,
  type SqlValue,
} from "../../../sql/fragment.ts";
import { affinityOf } from "./column_type.ts";

/** The SQL of SQLite for conditions on row images. The rows need not be in their table. */
export const sqliteImages: ImageDialect = {
  // A statement may chain 500 SELECTs.
  maxRows: 100,
  // In one statement with numbers, a string in a number column would get the column's affinity.
  batchKey: (row, columns) =>
    columns.map((column, index) => fits(row[index] ?? null, column) ? "+" : "-").join(""),
  from,
};

/**
 * Returns one table: an empty SELECT of the table, followed by the values. SQLite takes the
 * affinity and the collation of the columns from the first SELECT, unless a later SELECT may have
 * another class of value. The casts exclude that, and do not change a valid value.
 *
 * An invalid value, such as a string in a number column, has no cast and no affinity. Then the
 * compared value is not converted to a number either, but it could not equal such a number anyway.
 */
function from({ table, from, columns, rows, ordinal }: RowImages): Fragment {
  const names = columns.map(({ dbName }) => identifier(dbName));
  const none = sql`SELECT ${join([sql`0 AS ${identifier(ordinal)}`, ...names], ", ")}`;
  const images = rows.map((row, index) => {
    const cells = columns.map((column, at) => cell(row[at] ?? null, column));
    return sql`SELECT ${join([rawSql(String(index + 1)), ...cells], ", ")}`;
  });
  const all = join([sql`${none} FROM ${from} WHERE 0`, ...images], " UNION ALL ");
  // The limit prevents SQLite from pushing the conditions down into each of the SELECTs.
  return sql`(${all} LIMIT -1) AS ${identifier(table.name)}`;
}

function cell(value: SqlValue, column: ColumnInfo): Fragment {
  const affinity = affinityOf(column);
  if (affinity === "BLOB" || !fits(value, column)) return bound(value);
  // A cast to INTEGER would truncate a fraction, which a column of this affinity can have.
  return sql`CAST(${bound(value)} AS ${rawSql(affinity === "INTEGER" ? "NUMERIC" : affinity)})`;
}

/** Other programs may have stored a string with a NUL, which not every library can bind. */
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
