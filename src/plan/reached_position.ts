import { kindProperties } from "../schema/kinds/kind_properties.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import type { SqlValue } from "../sql/fragment.ts";
import type { OffsetPosition, OrderKey } from "./plan.ts";
import { Problem } from "../problem/problem.ts";
import { type CountedPosition, positionHash, positionText } from "./cursor.ts";

export const startPosition: OffsetPosition = { values: [], skip: 0 };

/** A page in whose order several rows can have equal values. `from` is the start of the page. */
export interface PageWithTies extends ReadRows {
  readonly from: OffsetPosition;
}

interface ReadRows {
  readonly stored: readonly (readonly SqlValue[])[];
  readonly columns: readonly ColumnInfo[];
  readonly order: readonly OrderKey[];
}

/**
 * Returns the position after a page in whose order several rows can have equal values. The position
 * names the last row that certainly differs from the row before it (in values that fit into a
 * cursor), and the number of rows from that row to the end of the page. Without such a row, the
 * position is `from` with more rows to skip.
 */
export function offsetPositionAfter(
  { stored, columns, order, from }: PageWithTies,
  fitting: (values: readonly SqlValue[]) => number,
): OffsetPosition {
  const places = order.map(({ column }) => columns.indexOf(column));
  const valuesOf = (row: readonly SqlValue[]) => places.map((place) => row[place] ?? null);
  for (let index = stored.length - 1; index > 0; index--) {
    const values = valuesOf(stored[index] ?? []);
    const kept = values.slice(0, fitting(values));
    const before = valuesOf(stored[index - 1] ?? []);
    const differs = kept.some((value, at) => {
      const column = order[at]?.column;
      return column !== undefined && certainlyDiffer(value, before[at] ?? null, column);
    });
    if (differs) return { values: kept, skip: stored.length - index };
  }
  return { values: from.values, skip: from.skip + stored.length };
}

/** Returns true if two values certainly differ in the database, where `a` may equal `A`. */
function certainlyDiffer(left: SqlValue, right: SqlValue, column: ColumnInfo): boolean {
  if (left === null || right === null) return left !== right;
  // A type without a column kind, such as an interval, can have several strings for one value.
  if (column.databaseType !== undefined) return false;
  if (isNumber(left) && isNumber(right)) return differAsNumbers(left, right);
  if (typeof left !== "string" || typeof right !== "string") return false;
  const { arithmetic } = kindProperties[column.kind];
  if (arithmetic === "double" || arithmetic === "decimal") {
    return differAsNumbers(Number(left), Number(right));
  }
  return hasPlainTexts(column) && plain(left) !== plain(right);
}

function isNumber(value: SqlValue): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

function differAsNumbers(left: number | bigint, right: number | bigint): boolean {
  return left < right || left > right;
}

/** Returns true if string comparisons in the column ignore nothing but case and trailing spaces. */
function hasPlainTexts({ kind, existingType, enumValues, looseCollation }: ColumnInfo): boolean {
  if (looseCollation) return false;
  return kind !== "text" || existingType === null || enumValues !== null ||
    /^$|char|text|clob|string|name|uuid/i.test(existingType);
}

function plain(text: string): string {
  return text.toLowerCase().trimEnd();
}

export function countedPositionAt(rows: number): CountedPosition {
  return { rows, compared: 0, hash: positionHash("") };
}

/** Throws a 400 if the first rows of `stored`, which precede the page, are no longer the same. */
export function countedPositionAfter(
  from: CountedPosition,
  { stored, columns, order }: ReadRows,
  given: number,
): CountedPosition {
  const places = order.map(({ column }) => columns.indexOf(column));
  const texts = stored.slice(0, from.compared + given).map((row) =>
    positionText(places.map((place) => row[place] ?? null))
  );
  if (positionHash(texts.slice(0, from.compared).join("\n")) !== from.hash) {
    throw new Problem(
      "cursor-invalid",
      "Cannot continue this list: the rows before this page are others than before. They were " +
        "changed, or their order has values of a view that differ each time. Order by its key, which " +
        "the start of the service can name (--key), read it in one page, or use offset",
    );
  }
  const last = texts.slice(-maxCompared);
  return { rows: from.rows + given, compared: last.length, hash: positionHash(last.join("\n")) };
}

/** The maximum number of compared rows. If rows have changed, 100 rows do not match by chance. */
const maxCompared = 100;
