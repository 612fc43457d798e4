import { parseJson } from "../exact_json.ts";
import { anyKind } from "../kinds/any_kind.ts";
import { InvalidValue, type Kind } from "../kind.ts";
import { kinds } from "../kind_of.ts";
import type { ColumnInfo, DatabaseType } from "../table_info.ts";
import { textKind } from "../kinds/text_kind.ts";
import { fromStructure } from "./structured_value.ts";

/** Returns true if rows can be ordered by a column, and its values be grouped. */
export function isSortable({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].compare !== null : databaseType.ordered;
}

/** Returns true if a column has equality. */
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

/** The elements of a column of lists, as a column of their own; null for all others. */
export function elementOf({ databaseType }: ColumnInfo): ColumnInfo | null {
  return databaseType?.shape.kind === "list" ? databaseType.shape.element : null;
}

/** Returns true if a column may hold numbers and strings. */
export function isAny(
  { databaseType }: { readonly databaseType?: DatabaseType | undefined },
): boolean {
  return databaseType?.shape.kind === "any";
}

/** Returns true if a column is one of documents, whose values have the form that each row gives them. */
export function isDocument({ kind, databaseType }: ColumnInfo): boolean {
  return kind === "json" && databaseType === undefined;
}

/** The checks and strings of a column's values: those of its kind, narrowed by its type. */
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

/** The labels of an enum: the database has no order for another string. */
const labelKind: Kind = {
  ...textKind,
  fromText(text, { enumValues }) {
    if (enumValues?.includes(text) === true) return text;
    throw new InvalidValue(`must be one of: ${enumValues?.join(", ")}`);
  },
};
