import type { ColumnInfo, Row } from "../schema/table_info.ts";
import type { RelatedKey } from "./plan.ts";

/** The key by which a row leads to related ones; null if a NULL in it leads to none. */
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
 * Identifies a key among those of the same columns. Different values that are equal for the database
 * may have different ids: it compares them with rows.
 */
export function relatedKeyId(key: RelatedKey): unknown {
  return key.length === 1 ? key[0] : JSON.stringify(key.map((value) => [typeof value, `${value}`]));
}
