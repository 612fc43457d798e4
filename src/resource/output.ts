import type { ColumnInfo, Row } from "../schema/table_info.ts";

/**
 * The only door for rows: list, get and writes all answer through it, so that masking cannot be
 * forgotten. A row keeps exactly the columns of `visible`, which {@link parseSelect} took from the
 * readable ones.
 */
export function presentRow(row: Row, visible: readonly ColumnInfo[]): Row {
  const shown: Record<string, unknown> = {};
  for (const column of visible) shown[column.name] = row[column.name];
  return shown;
}

/** JSON text; integers beyond 2^53 keep all their digits. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // The one thing in a row that JSON.stringify refuses is a bigint: rare, so paid only here.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, (_key, part) => typeof part === "bigint" ? rawJson(part) : part);
  }
}

function rawJson(value: bigint): unknown {
  // JSON.rawJSON is in V8 but not yet in TypeScript's library.
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(value.toString());
}
