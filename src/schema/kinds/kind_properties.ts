import type { ColumnKind } from "../kind.ts";

export interface KindProperties {
  /** Kinds of one family can be compared with each other exactly. Null without a family. */
  readonly family: "text" | "number" | "boolean" | "timestamp" | "date" | "uuid" | null;
  readonly arithmetic: "whole" | "decimal" | "double" | null;
  readonly json: "string" | "string or number" | "number" | "boolean" | "any";
  readonly generates: "key" | "timestamp" | null;
  readonly isQuotedInSql: boolean;
  /** True if values can have any length. */
  readonly isLong: boolean;
  readonly dependsOnEngine: boolean;
  readonly hasSeveralForms: boolean;
  readonly isWholeInJson: boolean;
  /** Matches Postgres values that the kind cannot represent, e.g. NaN. Null if there are none. */
  readonly special: RegExp | null;
}

const plain: KindProperties = {
  family: null,
  arithmetic: null,
  json: "string",
  generates: null,
  isQuotedInSql: false,
  isLong: false,
  dependsOnEngine: false,
  hasSeveralForms: false,
  isWholeInJson: false,
  special: null,
};

const whole = { ...plain, family: "number", arithmetic: "whole" } as const;
const notANumber = /^(?:NaN|-?Infinity)$/;

export const kindProperties: Readonly<Record<ColumnKind, KindProperties>> = {
  text: {
    ...{ ...plain, family: "text", generates: "key", isQuotedInSql: true },
    ...{ isLong: true, isWholeInJson: true },
  },
  integer: { ...whole, json: "number" },
  bigint: { ...whole, json: "string or number" },
  // Rounding can make equal numbers into unequal doubles, so this kind has no family.
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
  uuid: { ...plain, family: "uuid", generates: "key", isQuotedInSql: true },
  json: {
    ...{ ...plain, json: "any", isLong: true, dependsOnEngine: true },
    ...{ hasSeveralForms: true, isWholeInJson: true },
  },
  bytes: { ...plain, isLong: true, hasSeveralForms: true, isWholeInJson: true },
};

export function isWhole({ kind }: { readonly kind: ColumnKind }): boolean {
  return kindProperties[kind].arithmetic === "whole";
}

export function kindEntries<T>(table: Readonly<Record<ColumnKind, T>>): [ColumnKind, T][] {
  // The cast is safe: the type of the parameter requires exactly the column kinds as keys.
  return Object.entries(table) as [ColumnKind, T][];
}

export function kindsByName(
  names: Readonly<Record<ColumnKind, readonly string[]>>,
): ReadonlyMap<string, ColumnKind> {
  return new Map(kindEntries(names).flatMap(([kind, own]) => own.map((name) => [name, kind])));
}
