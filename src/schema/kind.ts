import type { ColumnInfo } from "./table_info.ts";

/** A value that its column cannot take; the message is shown to the caller. */
export class InvalidValue extends Error {
  /** `message` completes "title …", e.g. `must be a whole number`. */
  constructor(message: string) {
    super(message);
    this.name = "InvalidValue";
  }
}

/** What a column says about its values beside their kind. */
export type ValueRules = Pick<ColumnInfo, "enumValues" | "precision" | "scale" | "maxLength">;

/**
 * What a column kind means: how values come in, and how they are ordered. Null is handled by the
 * caller, before a kind is asked.
 */
export interface Kind {
  /** A JSON value of a body → the in-process value. Throws {@link InvalidValue}. */
  fromJson(value: unknown, rules: ValueRules): unknown;
  /**
   * The text of a filter literal or of a path segment → the in-process value. What a column may
   * store (members of an enum, length) is not asked here: such a literal just matches nothing.
   * Throws {@link InvalidValue}.
   */
  fromText(text: string, rules: ValueRules): unknown;
  /**
   * The order of two in-process values, the same as the databases' own; null for json and bytes,
   * which only know null tests. A stored value that does not fit its kind never throws here.
   */
  readonly compare: ((left: unknown, right: unknown) => number) | null;
  /** Whether `>` makes sense: not for booleans, which can be sorted but not be greater. */
  readonly ordered: boolean;
}
