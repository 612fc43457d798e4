import type { ColumnInfo, Row } from "../schema/table_info.ts";
import type { RelatedKey } from "./plan.ts";

/** Returns the key by which a row finds related ones, or null if it contains a NULL. */
export function relatedKeyOf(row: Row, columns: readonly ColumnInfo[]): RelatedKey | null {
  const key: unknown[] = [];
  for (const { name } of columns) {
    const value = row[name] ?? null;
    if (value === null) return null;
    key.push(value);
  }
  return key;
}

/**
 * Returns the identity of a key among those of the same columns. Values that are equal for the
 * database may have different ids, because the database compares them with rows.
 */
export function relatedKeyId(key: RelatedKey): unknown {
  return key.length === 1 ? key[0] : JSON.stringify(key.map((value) => [typeof value, `${value}`]));
}
