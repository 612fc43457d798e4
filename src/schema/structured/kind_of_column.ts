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

/** Returns true if `>` is defined for a column. */
export function isOrdered({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].ordered : databaseType.ordered;
}

/** Returns true if min and max are defined for a column. */
export function hasExtremes({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].compare !== null : databaseType.hasExtremes;
}

/** Returns the elements of a list column as a column; null for all other columns. */
export function elementOf({ databaseType }: ColumnInfo): ColumnInfo | null {
  return databaseType?.shape.kind === "list" ? databaseType.shape.element : null;
}

/** Returns true if a column may hold numbers and strings. */
export function isAny(
  { databaseType }: { readonly databaseType?: DatabaseType | undefined },
): boolean {
  return databaseType?.shape.kind === "any";
}

/** Returns true if a column contains documents, whose structure may differ from row to row. */
export function isDocument({ kind, databaseType }: ColumnInfo): boolean {
  return kind === "json" && databaseType === undefined;
}

/** Returns the checks and strings of a column: those of its kind, restricted by its type. */
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

/** The labels of an enum: the database has no order for other strings. */
const labelKind: Kind = {
  ...textKind,
  fromText(text, { enumValues }) {
    if (enumValues?.includes(text) === true) return text;
    throw new InvalidValue(`must be one of: ${enumValues?.join(", ")}`);
  },
};
