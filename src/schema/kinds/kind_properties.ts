import type { ColumnKind } from "../kind.ts";

/** The properties of a column kind on which other modules depend. */
export interface KindProperties {
  /** The family of the kind, or null. Values of kinds in one family can be compared exactly. */
  readonly family: "text" | "number" | "boolean" | "timestamp" | "date" | "uuid" | null;
  /** The arithmetic of sums and averages, or null for kinds without arithmetic. */
  readonly arithmetic: "whole" | "decimal" | "double" | null;
  /** The JSON type of a value in a body. */
  readonly json: "string" | "string or number" | "number" | "boolean" | "any";
  /** The value that the server can generate: a UUID key or the time. Null if there is none. */
  readonly generates: "key" | "timestamp" | null;
  /** True if a quoted SQL literal denotes the same value on every engine. */
  readonly isQuotedInSql: boolean;
  /** True if the length of a value has no limit. */
  readonly isLong: boolean;
  /** True if the change log stores equal values as equal strings. */
  readonly isPlainInImages: boolean;
  /** True if engines store the values in different forms. */
  readonly dependsOnEngine: boolean;
  /** True if one value can be stored in several forms, or if values have no equality. */
  readonly hasSeveralForms: boolean;
  /** True if JSON can represent every Postgres value of the kind. */
  readonly isWholeInJson: boolean;
  /** Matches Postgres values that the kind cannot represent, or null if there are none. */
  readonly special: RegExp | null;
}

const plain: KindProperties = {
  family: null,
  arithmetic: null,
  json: "string",
  generates: null,
  isQuotedInSql: false,
  isLong: false,
  isPlainInImages: false,
  dependsOnEngine: false,
  hasSeveralForms: false,
  isWholeInJson: false,
  special: null,
};

const whole = { ...plain, family: "number", arithmetic: "whole", isPlainInImages: true } as const;
const notANumber = /^(?:NaN|-?Infinity)$/;

export const kindProperties: Readonly<Record<ColumnKind, KindProperties>> = {
  text: {
    ...{ ...plain, family: "text", generates: "key", isQuotedInSql: true },
    ...{ isLong: true, isPlainInImages: true, isWholeInJson: true },
  },
  integer: { ...whole, json: "number" },
  bigint: { ...whole, json: "string or number" },
  // Equality of doubles depends on rounding, so this kind belongs to no family.
  real: { ...plain, arithmetic: "double", json: "number", special: notANumber },
  decimal: {
    ...{ ...plain, family: "number", arithmetic: "decimal", json: "string or number" },
    ...{ dependsOnEngine: true, special: notANumber },
  },
  boolean: {
    ...{ ...plain, family: "boolean", json: "boolean" },
    ...{ dependsOnEngine: true, isWholeInJson: true },
  },
  timestamp: {
    ...{ ...plain, family: "timestamp", json: "string or number", generates: "timestamp" },
    ...{ dependsOnEngine: true, hasSeveralForms: true },
    special:
      /^(?:-?infinity|(?=\d{5}|.* BC$)\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?(?:\+00)?(?: BC)?)$/,
  },
  date: {
    ...{ ...plain, family: "date", isQuotedInSql: true },
    special: /^(?:-?infinity|\d{4,7}-\d\d-\d\d BC|\d{5,7}-\d\d-\d\d)$/,
  },
  uuid: { ...plain, family: "uuid", generates: "key", isQuotedInSql: true, isPlainInImages: true },
  json: {
    ...{ ...plain, json: "any", isLong: true, dependsOnEngine: true },
    ...{ hasSeveralForms: true, isWholeInJson: true },
  },
  bytes: { ...plain, isLong: true, hasSeveralForms: true, isWholeInJson: true },
};

export function isWhole({ kind }: { readonly kind: ColumnKind }): boolean {
  return kindProperties[kind].arithmetic === "whole";
}

/** Returns the entries of an object with one member for each kind, in the order of the members. */
export function kindEntries<T>(table: Readonly<Record<ColumnKind, T>>): [ColumnKind, T][] {
  // The type requires all kinds as keys, so no other key exists.
  return Object.entries(table) as [ColumnKind, T][];
}

/** Returns a map from type names to column kinds, given the list of names for each kind. */
export function kindsByName(
  names: Readonly<Record<ColumnKind, readonly string[]>>,
): ReadonlyMap<string, ColumnKind> {
  return new Map(kindEntries(names).flatMap(([kind, own]) => own.map((name) => [name, kind])));
}
