import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";

export function canGenerate(column: ColumnInfo): boolean {
  return !column.notNull || column.default !== null || isOwnKey(column) ||
    kindProperties[column.kind].generates === "timestamp";
}

export function isOwnKey({ primaryKey, kind }: ColumnInfo): boolean {
  return primaryKey && kindProperties[kind].generates === "key";
}
