import type { TextPattern } from "./pattern/text_pattern.ts";

/** The kinds of columns. The kind defines the JSON, the checks and the order of the values. */
export type ColumnKind =
  | "text"
  | "integer"
  | "bigint"
  | "real"
  | "decimal"
  | "boolean"
  | "timestamp"
  | "date"
  | "uuid"
  | "json"
  | "bytes";

/** Thrown for a value that is invalid for its column's kind. Clients see the message. */
export class InvalidValue extends Error {
  /** `message` follows the name of the column in responses, e.g. `must be a whole number`. */
  constructor(message: string) {
    super(message);
    this.name = "InvalidValue";
  }
}

/** The rules for the values of one column, in addition to those of its kind. */
export interface ValueRules {
  /** The allowed strings; null if any string is allowed. */
  readonly enumValues: readonly string[] | null;
  /** Maximum number of digits of a decimal, or null for any number. */
  readonly precision: number | null;
  /** Number of digits of a decimal after the point; null if each value has its own. */
  readonly scale: number | null;
  /** Maximum length of a string in characters, or null for no limit. */
  readonly maxLength: number | null;
  /** Minimum length of a string in characters, or null for no limit. */
  readonly minLength: number | null;
  /** Lowest allowed value in its JavaScript form; null for no limit. */
  readonly min: unknown;
  /** Highest allowed value in its JavaScript form; null for no limit. */
  readonly max: unknown;
  /** A pattern that must match a part of each string; null for none. */
  readonly pattern: TextPattern | null;
  /** A format that each string must have; null for none. */
  readonly format: "email" | null;
  /** True if the database compares UUIDs as strings, so that upper and lower case differ. */
  readonly exactCase: boolean;
}

export const unrestrictedRules: ValueRules = Object.freeze({
  enumValues: null,
  precision: null,
  scale: null,
  maxLength: null,
  minLength: null,
  min: null,
  max: null,
  pattern: null,
  format: null,
  exactCase: false,
});

/** The behaviour of a column kind: parsing and order. Callers handle null themselves. */
export interface Kind {
  fromJson(value: unknown, rules: ValueRules): unknown;
  /** Parses a string. Enum and length limits are not checked: a forbidden value matches no row. */
  fromText(text: string, rules: ValueRules): unknown;
  /** Compares values as the databases do, and never throws. Null for json and bytes (no order). */
  readonly compare: ((left: unknown, right: unknown) => number) | null;
  /** True if filters can use `>`. False for booleans, although lists can be sorted by them. */
  readonly ordered: boolean;
}
