import { type ColumnInfo, plainColumn } from "../../src/schema/table_info.ts";
import type { ColumnKind } from "../../src/schema/kind.ts";

/** A nullable column of the kind, for tests that need no table. */
export function columnOf(kind: ColumnKind, details: Partial<ColumnInfo> = {}): ColumnInfo {
  return { ...plainColumn, name: "c", dbName: "c", kind, ...details };
}
