import { bytesToBase64 } from "../../protocol/byte_text.ts";
import { type ColumnKind, InvalidValue, unrestrictedRules } from "../../schema/kind.ts";
import { kindOfColumn } from "../../schema/structured/structured_value.ts";
import { type ColumnInfo, plainColumn } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { type Fragment, join, rawSql, sql } from "../../sql/fragment.ts";
import { DatabaseError } from "../database_error.ts";
import type { ValuePlace } from "./value_places.ts";

export function bindAtPlace(value: unknown, place: ValuePlace, dialect: Dialect): Fragment {
  switch (place.kind) {
    case "count":
      return rowCount(value);
    case "free":
      return freeValue(value, place, dialect);
    case "rows":
      return boundRows(value, place.columns, dialect);
    default:
      if (place.list !== "none" && Array.isArray(value)) return boundList(value, place, dialect);
      if (place.list === "bare") throw new Error("Cannot bind a value after IN: give a list");
      return ofColumn(value, place.column, place.stores, dialect);
  }
}

/** Binds a LIMIT or OFFSET. Rejects fractions, which Postgres rounds, and NULL (no limit). */
function rowCount(value: unknown): Fragment {
  const count = typeof value === "bigint" ? Number(value) : value;
  if (typeof count === "number" && Number.isSafeInteger(count) && count >= 0) {
    return sql`CAST(${count} AS bigint)`;
  }
  throw new DatabaseError(
    "invalid-value",
    new Error("LIMIT and OFFSET must be whole numbers from 0"),
  );
}

export function bindForColumn(value: unknown, column: ColumnInfo, dialect: Dialect): Fragment {
  return dialect.bound(inProcess(value, column, false, dialect), column);
}

function ofColumn(value: unknown, column: ColumnInfo, stores: boolean, dialect: Dialect): Fragment {
  if (column.kind === "json" && !stores && value !== null) {
    throw new Error(`Cannot compare "${column.name}": documents have no equality on every engine`);
  }
  return sql`${dialect.encode(inProcess(value, column, stores, dialect), column)}`;
}

/** Converts a value from its JSON form. Only a stored value must meet the column's constraints. */
function inProcess(value: unknown, column: ColumnInfo, stores: boolean, dialect: Dialect): unknown {
  if (value === null) return null;
  const rules = stores ? column : unrestrictedRules;
  const given = value instanceof Uint8Array && column.kind === "bytes"
    ? bytesToBase64(value)
    : value;
  try {
    const parsed = kindOfColumn(column).fromJson(given, rules);
    if (stores) dialect.check(parsed, column);
    return parsed;
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    throw new DatabaseError("invalid-value", new Error(`${column.name} ${error.message}`));
  }
}

function boundList(
  values: readonly unknown[],
  { column, list }: Extract<ValuePlace, { readonly kind: "column" }>,
  dialect: Dialect,
): Fragment {
  const items = values.length === 0
    ? sql`SELECT ${dialect.bound(null, column)} WHERE 1=0`
    : join(values.map((value) => ofColumn(value, column, false, dialect)), ", ");
  return list === "opened" ? items : sql`(${items})`;
}

function boundRows(
  rows: unknown,
  columns: readonly (ColumnInfo | null)[],
  dialect: Dialect,
): Fragment {
  if (!Array.isArray(rows) || rows.length === 0 || !rows.every(Array.isArray)) {
    throw new Error(
      "Cannot bind what follows VALUES: give one or more rows, each a list of values",
    );
  }
  const lists = rows.map((row: readonly unknown[]) => {
    if (row.length !== columns.length) {
      throw new Error(`Cannot bind a row of ${row.length} values for ${columns.length} columns`);
    }
    const cells = row.map((value, index) => {
      if (value === undefined) throw new Error("Cannot bind undefined in a row");
      const column = columns[index] ?? null;
      return column === null
        ? freeValue(value, { near: null, isExact: false }, dialect)
        : ofColumn(value, column, true, dialect);
    });
    return sql`(${join(cells, ", ")})`;
  });
  return join(lists, ", ");
}

function freeValue(
  value: unknown,
  { near, isExact }: Pick<Extract<ValuePlace, { readonly kind: "free" }>, "near" | "isExact">,
  dialect: Dialect,
): Fragment {
  if (value === null) return rawSql("NULL");
  const kind = kindOfFree(value);
  if (kind === "text" && near !== null) {
    throw new Error(
      `Cannot bind a string near "${near.name}", which is not a text column: write db.sql.value(column, value), or CAST(value AS text)`,
    );
  }
  // In Postgres, functions like substr() accept no integer of more than 32 bits.
  if (kind === "integer" && !isExact && Number(value) === (Number(value) | 0)) {
    return sql`CAST(${Number(value)} AS integer)`;
  }
  return bindForColumn(
    value,
    freeColumn(kind === "integer" && isExact ? "decimal" : kind),
    dialect,
  );
}

function kindOfFree(value: unknown): ColumnKind {
  switch (typeof value) {
    case "boolean":
      return "boolean";
    case "string":
      return "text";
    case "bigint":
      return "integer";
    case "number":
      // A fraction is bound as a decimal, because a double makes the arithmetic inexact.
      return Number.isInteger(value) ? "integer" : "decimal";
    default:
      if (value instanceof Date) return "timestamp";
      if (value instanceof Uint8Array) return "bytes";
      throw new Error(
        `Cannot bind ${
          Array.isArray(value) ? "a list" : "an object"
        } here: a list stands after "column IN", a document beside its column; for a condition use eq()`,
      );
  }
}

function freeColumn(kind: ColumnKind): ColumnInfo {
  return { ...plainColumn, name: "value", dbName: "value", kind };
}
