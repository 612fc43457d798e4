import { InvalidValue, type Kind } from "./kind.ts";
import { kindOf } from "./kind_of.ts";
import type { ColumnInfo } from "./table_info.ts";
import { textKind } from "./text_kind.ts";

/**
 * In a column's description: a type of the database that no kind stands for, such as `inet`, an enum
 * or an array. The column's kind says which JSON its values are; the database alone knows how they
 * compare.
 */
export interface DatabaseType {
  /**
   * What a text is cast to: quoted, with its schema and without numbers, of a domain its base type.
   */
  readonly sqlName: string;
  /** What its values are in JSON. */
  readonly form: "text";
  /**
   * Whether its values have an order. Those of other types are compared by their texts, for equality
   * alone.
   */
  readonly ordered: boolean;
  /** Whether the database has min() and max() for it. */
  readonly hasExtremes: boolean;
  /** Whether texts that differ in case alone are equal. */
  readonly ignoresCase: boolean;
}

/** Whether rows can be ordered by a column, and its values be grouped. */
export function isSortable({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kindOf(kind).compare !== null : databaseType.ordered;
}

/** Whether a column has equality. */
export function hasEquality({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kindOf(kind).compare !== null : true;
}

/** Whether `>` is defined for a column. */
export function isOrdered({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kindOf(kind).ordered : databaseType.ordered;
}

/** Whether min and max are defined for a column. */
export function hasExtremes({ kind, databaseType }: ColumnInfo): boolean {
  return databaseType === undefined ? kindOf(kind).compare !== null : databaseType.hasExtremes;
}

/** The checks and texts of a column's values: those of its kind, narrowed by its type. */
export function kindOfColumn({ kind, databaseType, enumValues }: ColumnInfo): Kind {
  if (databaseType === undefined) return kindOf(kind);
  return enumValues === null ? textKind : labelKind;
}

/** The labels of an enum: the database has no order for another text. */
const labelKind: Kind = {
  ...textKind,
  fromText(text, { enumValues }) {
    if (enumValues?.includes(text) === true) return text;
    throw new InvalidValue(`must be one of: ${enumValues?.join(", ")}`);
  },
};
