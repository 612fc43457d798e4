import { parseJson } from "../exact_json.ts";
import { anyKind } from "../kinds/any_kind.ts";
import { InvalidValue, type Kind } from "../kind.ts";
import { kinds } from "../kind_of.ts";
import type { ColumnInfo, DatabaseType } from "../table_info.ts";
import { textKind } from "../kinds/text_kind.ts";
import { fromStructure } from "./structured_value.ts";

/** Returns true if rows can be ordered and grouped by a column. */
export function isSortable({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].compare !== null : databaseType.ordered;
}

export function hasEquality({ kind, databaseType }: ColumnInfo): boolean {
  if (databaseType === undefined) return kinds[kind].compare !== null;
  return databaseType.shape.kind === "text" || databaseType.ordered;
}

/** Returns true if filters may use `>` on a column. */
export function isOrdered({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].ordered : databaseType.ordered;
}

/** Returns true if aggregates may use min and max on a column. */
export function hasExtremes({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].compare !== null : databaseType.hasExtremes;
}

/** Returns a column that describes the elements of a list column, or null for other columns. */
export function elementOf({ databaseType }: ColumnInfo): ColumnInfo | null {
  return databaseType?.shape.kind === "list" ? databaseType.shape.element : null;
}

/** Returns true if a column may contain both numbers and strings. */
export function isAny(
  { databaseType }: { readonly databaseType?: DatabaseType | undefined },
): boolean {
  return databaseType?.shape.kind === "any";
}

/** Returns true if a column contains JSON documents of any structure. */
export function isDocument({ kind, databaseType }: ColumnInfo): boolean {
  return kind === "json" && databaseType === undefined;
}

/** Returns the column's kind, adapted to its database type. */
export function kindOfColumn({ kind, databaseType, enumValues }: ColumnInfo): Kind {
  if (databaseType === undefined) return kinds[kind];
  if (databaseType.shape.kind === "text") return enumValues === null ? textKind : labelKind;
  const { shape } = databaseType;
  if (shape.kind === "any") return anyKind;
  return {
    ...kinds.json,
    fromJson: (value) => fromStructure(value, shape, kindOfColumn),
    fromText: (text) => fromStructure(parseJson(text) ?? text, shape, kindOfColumn),
  };
}

/** The kind of enum labels. Postgres has no order for strings that are not labels of the enum. */
const labelKind: Kind = {
  ...textKind,
  fromText(text, { enumValues }) {
    if (enumValues?.includes(text) === true) return text;
    throw new InvalidValue(`must be one of: ${enumValues?.join(", ")}`);
  },
};
