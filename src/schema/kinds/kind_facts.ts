import type { ColumnKind } from "../kind.ts";

/** The properties of a column kind that code outside of the kind depends on. */
export interface KindFacts {
  /** Kinds of one family have a common, exact equality; null if the kind's equality is not exact. */
  readonly family: "text" | "number" | "boolean" | "timestamp" | "date" | "uuid" | null;
  /** The arithmetic of sums and averages; null if the kind has none. */
  readonly arithmetic: "whole" | "decimal" | "double" | null;
  /** The JSON type of a value in a body. */
  readonly json: "string" | "string or number" | "number" | "boolean" | "any";
  /** The value that the server generates for a new row: a UUID as primary key, or the time. */
  readonly generates: "key" | "timestamp" | null;
  /** True if a quoted literal of SQL is the same value on every engine. */
  readonly isQuotedInSql: boolean;
  /** True if a value can be of any length. */
  readonly isLong: boolean;
  /** True if a row image contains the text of the value in one form only. */
  readonly isPlainInImages: boolean;
  /** True if the stored form depends on the engine. */
  readonly dependsOnEngine: boolean;
  /** True if an existing column can store a value in several forms, or its values have no equality. */
  readonly hasSeveralForms: boolean;
  /** True if each value of Postgres has a form in JSON. */
  readonly isWholeInJson: boolean;
  /** Matches the values of Postgres that the kind lacks, as a row shows them; null if none. */
  readonly special: RegExp | null;
}

const plain: KindFacts = {
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

export const kindFacts: Readonly<Record<ColumnKind, KindFacts>> = {
  text: {
    ...{ ...plain, family: "text", generates: "key", isQuotedInSql: true },
    ...{ isLong: true, isPlainInImages: true, isWholeInJson: true },
  },
  integer: { ...whole, json: "number" },
  bigint: { ...whole, json: "string or number" },
  // The equality of doubles depends on rounding.
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

/** Returns true if a column stores only whole numbers. */
export function isWhole({ kind }: { readonly kind: ColumnKind }): boolean {
  return kindFacts[kind].arithmetic === "whole";
}

/** Returns the entries of a table of all kinds, in the order of the table. */
export function kindEntries<T>(table: Readonly<Record<ColumnKind, T>>): [ColumnKind, T][] {
  // The keys of a complete table are the kinds.
  return Object.entries(table) as [ColumnKind, T][];
}

/** Returns the kind of each name, from the names of each kind. */
export function kindsByName(
  names: Readonly<Record<ColumnKind, readonly string[]>>,
): ReadonlyMap<string, ColumnKind> {
  return new Map(kindEntries(names).flatMap(([kind, own]) => own.map((name) => [name, kind])));
}
