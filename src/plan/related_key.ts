import type { ColumnInfo, Row } from "../schema/table_info.ts";
import type { RelatedKey } from "./plan.ts";

/** Returns the values by which a relation finds the related rows, or null if a value is NULL. */
export function relatedKeyOf(row: Row, columns: readonly ColumnInfo[]): RelatedKey | null {
  const key: unknown[] = [];
  for (const { name } of columns) {
    const value = row[name] ?? null;
    if (value === null) return null;
    key.push(value);
  }
  return key;
}

/** Keys with an equal id are equal. The database may also treat keys with other ids as equal. */
export function relatedKeyId(key: RelatedKey): unknown {
  return key.length === 1 ? key[0] : JSON.stringify(key.map((value) => [typeof value, `${value}`]));
}
