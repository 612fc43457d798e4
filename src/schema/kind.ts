import type { ColumnInfo } from "./table_info.ts";

/** A value that its column cannot take; the message is shown to the caller. */
export class InvalidValue extends Error {
  /** `message` completes "title …", e.g. `must be a whole number`. */
  constructor(message: string) {
    super(message);
    this.name = "InvalidValue";
  }
}

/** What a column kind means: how values come in, and how they are ordered. */
export interface Kind {
  /** A JSON value of a body → the in-process value. Null is handled before. Throws {@link InvalidValue}. */
  fromJson(value: unknown, column: ColumnInfo): unknown;
  /** The text of a filter literal or of a path segment → the in-process value. Throws {@link InvalidValue}. */
  fromText(text: string, column: ColumnInfo): unknown;
  /** The order of two in-process values, or null where the kind has none (json, bytes). Boolean has equality only: see `ordered`. */
  readonly compare: ((left: unknown, right: unknown) => number) | null;
  /** Whether `>` and `orderBy` make sense. */
  readonly ordered: boolean;
}
