import type { TextPattern } from "./pattern/text_pattern.ts";

/**
 * The names of the kinds a column can have; each kind defines a JSON representation, checks and an
 * order.
 */
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

/**
 * The error of a kind for a value that its column cannot take; the message is shown to the caller.
 */
export class InvalidValue extends Error {
  /** `message` completes "title …", e.g. `must be a whole number`. */
  constructor(message: string) {
    super(message);
    this.name = "InvalidValue";
  }
}

/** The constraints of a column on its values, besides its kind. The kind also checks them. */
export interface ValueRules {
  /** The allowed strings of an enum column. */
  readonly enumValues: readonly string[] | null;
  /** Of a decimal: the number of all digits. */
  readonly precision: number | null;
  /** Of a decimal: the number of digits after the point; null if each value has its own. */
  readonly scale: number | null;
  /** Of a string: the longest value in characters, when declared. */
  readonly maxLength: number | null;
  /** Of a string: the shortest value in characters, when declared. */
  readonly minLength: number | null;
  /** The lowest allowed value of an ordered kind, in process; null for any. */
  readonly min: unknown;
  /** The highest allowed value of an ordered kind, in process; null for any. */
  readonly max: unknown;
  /** Of a string: what a part of every value matches, as in JSON Schema. */
  readonly pattern: TextPattern | null;
  /** Of a string: what every value is. */
  readonly format: "email" | null;
  /** Of a UUID: whether the database compares it as a string, so that its case matters. */
  readonly exactCase: boolean;
}

/** The rules of a column that takes every value of its kind. */
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
 * The interface of a column kind: how its values are parsed and ordered. The caller handles null
 * before it uses a kind.
 */
export interface Kind {
  /** A JSON value of a body → the in-process value. Throws {@link InvalidValue}. */
  fromJson(value: unknown, rules: ValueRules): unknown;
  /**
   * The text of a filter literal or of a path segment → the in-process value. Constraints (enum,
   * length) are not checked: a literal that violates them matches nothing. Throws
   * {@link InvalidValue}.
   */
  fromText(text: string, rules: ValueRules): unknown;
  /**
   * The order of two in-process values, the same as that of the databases; null for json and bytes,
   * which have null tests only. A stored value that does not fit its kind never throws here.
   */
  readonly compare: ((left: unknown, right: unknown) => number) | null;
  /** True if `>` is defined: not for booleans, which can only be sorted. */
  readonly ordered: boolean;
}
