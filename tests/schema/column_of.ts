import type { ColumnInfo } from "../../src/schema/table_info.ts";
import type { ColumnKind } from "../../src/schema/kind.ts";

/** A nullable column of the kind, for tests that need no table. */
export function columnOf(kind: ColumnKind, details: Partial<ColumnInfo> = {}): ColumnInfo {
  return {
    name: "c",
    dbName: "c",
    kind,
    notNull: false,
    primaryKey: false,
    unique: false,
    default: null,
    generated: false,
    enumValues: null,
    precision: null,
    scale: null,
    maxLength: null,
    references: null,
    existingType: null,
    looseCollation: false,
    timestampFormat: "dateTtime.ffffffZ",
    ...details,
  };
}
