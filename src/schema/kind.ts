import type { TextPattern } from "./pattern/text_pattern.ts";

/** The kinds of columns. Each kind defines a JSON representation, checks and an order. */
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

/** The error of a kind for a value that is invalid for its column. The caller sees the message. */
export class InvalidValue extends Error {
  /** `message` completes "title …", e.g. `must be a whole number`. */
  constructor(message: string) {
    super(message);
    this.name = "InvalidValue";
  }
}

/** The constraints of a column on its values, which its kind checks too. */
export interface ValueRules {
  /** The allowed strings of an enum column. */
  readonly enumValues: readonly string[] | null;
  /** Number of all digits of a decimal. */
  readonly precision: number | null;
  /** Number of digits of a decimal after the point; null if each value has its own. */
  readonly scale: number | null;
  /** Maximum length of a string in characters, if declared. */
  readonly maxLength: number | null;
  /** Minimum length of a string in characters, if declared. */
  readonly minLength: number | null;
  /** Lowest allowed in-process value of an ordered kind; null for any. */
  readonly min: unknown;
  /** Highest allowed in-process value of an ordered kind; null for any. */
  readonly max: unknown;
  /** Pattern that must match a part of every string, as in JSON Schema. */
  readonly pattern: TextPattern | null;
  /** Required format of every string. */
  readonly format: "email" | null;
  /** True if the database compares a UUID as a string. The case of letters then matters. */
  readonly exactCase: boolean;
}

/** The rules of a column that accepts every value of its kind. */
export const anyValue: ValueRules = Object.freeze({
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

/**
 * The interface of a column kind, which parses and orders values. The caller handles null before it
 * uses a kind.
 */
export interface Kind {
  /** Converts a JSON value of a body to the in-process value. Throws {@link InvalidValue}. */
  fromJson(value: unknown, rules: ValueRules): unknown;
  /**
   * Converts a filter literal or path segment to the in-process value. Constraints (enum, length)
   * are not checked: a literal that violates them matches nothing. Throws {@link InvalidValue}.
   */
  fromText(text: string, rules: ValueRules): unknown;
  /**
   * Compares two in-process values as the databases do; null for json and bytes, which have null
   * tests only. Never throws for an invalid stored value.
   */
  readonly compare: ((left: unknown, right: unknown) => number) | null;
  /** True if `>` is defined: not for booleans, which can only be sorted. */
  readonly ordered: boolean;
}
