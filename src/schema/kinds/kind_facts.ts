import type { ColumnKind } from "../kind.ts";

/** The properties of a column kind that code outside of the kind depends on. */
export interface KindFacts {
  /** Kinds of one family have a common, exact equality; null if the kind's equality is not exact. */
  readonly family: "text" | "number" | "boolean" | "timestamp" | "date" | "uuid" | null;
  /** True if sums and averages are defined. */
  readonly isNumber: boolean;
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
}

const plain: KindFacts = {
  family: null,
  isNumber: false,
  isLong: false,
  isPlainInImages: false,
  dependsOnEngine: false,
  hasSeveralForms: false,
  isWholeInJson: false,
};

/** The facts of each kind. */
export const kindFacts: Readonly<Record<ColumnKind, KindFacts>> = {
  text: { ...plain, family: "text", isLong: true, isPlainInImages: true, isWholeInJson: true },
  integer: { ...plain, family: "number", isNumber: true, isPlainInImages: true },
  bigint: { ...plain, family: "number", isNumber: true, isPlainInImages: true },
  // The equality of doubles depends on rounding.
  real: { ...plain, isNumber: true },
  decimal: { ...plain, family: "number", isNumber: true, dependsOnEngine: true },
  boolean: { ...plain, family: "boolean", dependsOnEngine: true, isWholeInJson: true },
  timestamp: { ...plain, family: "timestamp", dependsOnEngine: true, hasSeveralForms: true },
  date: { ...plain, family: "date" },
  uuid: { ...plain, family: "uuid", isPlainInImages: true },
  json: {
    ...{ ...plain, isLong: true, dependsOnEngine: true },
    ...{ hasSeveralForms: true, isWholeInJson: true },
  },
  bytes: { ...plain, isLong: true, hasSeveralForms: true, isWholeInJson: true },
};
