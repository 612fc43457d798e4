import { parseJson } from "../exact_json.ts";
import { anyKind } from "../kinds/any_kind.ts";
import { InvalidValue, type Kind } from "../kind.ts";
import { kinds } from "../kind_of.ts";
import type { ColumnInfo, DatabaseType } from "../table_info.ts";
import { textKind } from "../kinds/text_kind.ts";
import { fromStructure } from "./structured_value.ts";

/** Returns true if lists can be sorted, and aggregates grouped, by a column. */
export function isSortable({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].compare !== null : databaseType.ordered;
}

export function hasEquality({ kind, databaseType }: ColumnInfo): boolean {
  if (databaseType === undefined) return kinds[kind].compare !== null;
  return databaseType.shape.kind === "text" || databaseType.ordered;
}

/** Returns true if filters can use `>` with a column. */
export function isOrdered({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].ordered : databaseType.ordered;
}

/** Returns true if aggregates can compute min and max of a column. */
export function hasExtremes({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kinds[kind].compare !== null : databaseType.hasExtremes;
}

/** Returns the description of a list column's elements as that of a column; else null. */
export function elementOf({ databaseType }: ColumnInfo): ColumnInfo | null {
  return databaseType?.shape.kind === "list" ? databaseType.shape.element : null;
}

/** Returns true for a column that can contain both numbers and strings. */
export function isAny(
  { databaseType }: { readonly databaseType?: DatabaseType | undefined },
): boolean {
  return databaseType?.shape.kind === "any";
}

/** Returns true for a column of JSON documents with any structure. */
export function isDocument({ kind, databaseType }: ColumnInfo): boolean {
  return kind === "json" && databaseType === undefined;
}

/** Returns the kind with which values of a column are parsed and compared. */
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

/** The labels of an enum. Postgres cannot compare other strings with them. */
const labelKind: Kind = {
  ...textKind,
  fromText(text, { enumValues }) {
    if (enumValues?.includes(text) === true) return text;
    throw new InvalidValue(`must be one of: ${enumValues?.join(", ")}`);
  },
};
