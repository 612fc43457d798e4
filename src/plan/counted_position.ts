import { Problem } from "../problem/problem.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import type { SqlValue } from "../sql/fragment.ts";
import { type CountedPosition, positionHash, positionText } from "./cursor.ts";
import type { OrderKey } from "./plan.ts";

/** Returns the position after the first `rows` rows of an order, without rows to compare. */
export function countedPositionAt(rows: number): CountedPosition {
  return { rows, compared: 0, hash: positionHash("") };
}

/** Rows read for a counted position: first the rows before it, to compare, and then new rows. */
export interface CountedRows {
  readonly stored: readonly (readonly SqlValue[])[];
  readonly columns: readonly ColumnInfo[];
  readonly order: readonly OrderKey[];
}

/**
 * Returns the position `given` rows after the position `from`. Throws a 400 if the rows before
 * `from` have changed since that position was created.
 */
export function countedPositionAfter(
  from: CountedPosition,
  { stored, columns, order }: CountedRows,
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

/** The maximum number of compared rows. If an order changes, so many do not match by chance. */
const maxCompared = 100;
