import type { TextPattern } from "./pattern/text_pattern.ts";

/** The kinds of columns. A kind defines how values look in JSON, are checked, and are ordered. */
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

/** Thrown by a kind for a value that is invalid for its column. The client sees the message. */
export class InvalidValue extends Error {
  /** `message` follows the column name in responses, for example `must be a whole number`. */
  constructor(message: string) {
    super(message);
    this.name = "InvalidValue";
  }
}

/** The constraints of a column on its values, which the column's kind checks. */
export interface ValueRules {
  /** The allowed strings of an enum column, or null if the column is not an enum. */
  readonly enumValues: readonly string[] | null;
  /** Maximum number of digits of a decimal, or null for any number. */
  readonly precision: number | null;
  /** Number of digits of a decimal after the point, or null if each value has its own number. */
  readonly scale: number | null;
  /** Maximum length of a string in characters, or null for no limit. */
  readonly maxLength: number | null;
  /** Minimum length of a string in characters, or null for no limit. */
  readonly minLength: number | null;
  /** Lowest allowed in-process value, or null for no lower limit. */
  readonly min: unknown;
  /** Highest allowed in-process value, or null for no upper limit. */
  readonly max: unknown;
  /** Pattern that must match a part of every string, or null for no pattern. */
  readonly pattern: TextPattern | null;
  /** Format that every string must have, or null for any string. */
  readonly format: "email" | null;
  /** True if the database compares UUIDs as strings. The case of letters then matters. */
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

/** A column kind, which parses and orders values. Callers handle null before they use it. */
export interface Kind {
  /** Converts a JSON value from a body to an in-process value. Throws {@link InvalidValue}. */
  fromJson(value: unknown, rules: ValueRules): unknown;
  /**
   * Converts a filter literal or path segment to an in-process value. Throws {@link InvalidValue}.
   * The column's enum and length limits are not checked, because a literal that violates them
   * simply matches no row.
   */
  fromText(text: string, rules: ValueRules): unknown;
  /**
   * Compares two in-process values as the databases do. Null for json and bytes, whose values have
   * no order. Never throws for an invalid stored value.
   */
  readonly compare: ((left: unknown, right: unknown) => number) | null;
  /** True if filters may use `>`. False for booleans, which can only be sorted. */
  readonly ordered: boolean;
}
