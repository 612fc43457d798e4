import type { ColumnInfo } from "../../../src/schema/table_info.ts";

/** Returns another valid value for a unique column, as far as the kind allows one. */
export function freshValue(column: ColumnInfo, value: unknown): unknown {
  if (value === null || column.generated) return value;
  if (column.databaseType !== undefined) return freshAny(column.databaseType.sqlName, value);
  switch (column.kind) {
    case "integer":
      if (typeof value !== "string") return small(value);
      // In a column of SQLite, a string can also be an invalid value.
      return /^-?\d+$/.test(value) ? String(31_000n + BigInt(value) % 1_000n) : value;
    case "bigint":
      return String(31_000n + BigInt(String(value)) % 1_000n);
    case "real":
      return small(value);
    case "decimal":
      return String(small(value));
    case "timestamp":
    case "date":
      return `2031${String(value).slice(4)}`;
    case "uuid":
      return crypto.randomUUID();
    case "boolean":
      return value !== true;
    case "text":
      return freshText(String(value), column.maxLength);
    case "bytes":
      return btoa(crypto.randomUUID().slice(0, 15));
    case "json":
      return value;
  }
}

function small(value: unknown): number {
  return 31_000 + Math.trunc(Number(value)) % 1_000;
}

function freshText(value: string, maxLength: number | null): string {
  const text = `${value.slice(0, 8)}-${crypto.randomUUID().slice(0, 8)}`;
  return maxLength === null || text.length <= maxLength
    ? text
    : crypto.randomUUID().replaceAll("-", "").slice(0, maxLength);
}

/** Other types keep their value, except the type of any values of SQLite. */
function freshAny(type: string, value: unknown): unknown {
  if (type !== "any") return type === "citext" ? freshText(String(value), null) : value;
  return typeof value === "number" ? small(value) : freshText(String(value), null);
}
