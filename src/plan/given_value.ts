import type { Assignments } from "./plan.ts";

/**
 * A value of a body that may be the one that the row already shows. In this case the stored value
 * stays, even if it is invalid for the column's kind or has another form.
 */
export class GivenValue {
  /** The value in the body. */
  readonly given: unknown;
  /** The value as the column's kind reads it, or undefined if it is invalid. */
  readonly read: unknown;
  /** The error of an invalid value, or null. */
  readonly fault: string | null;

  /** Creates a value that its kind has read, or rejected: `fault` completes "title …". */
  constructor(given: unknown, read: unknown, fault: string | null) {
    this.given = given;
    this.read = read;
    this.fault = fault;
  }
}

/** Returns true if an update must read the row, because some values may be those that it shows. */
export function hasUnchangedInput(values: Assignments): boolean {
  for (const value of values.values()) {
    if (value instanceof GivenValue) return true;
  }
  return false;
}

/** Returns the values, each converted by {@link plainOf}. */
export function plainValues(values: Assignments): Assignments {
  return new Map([...values].map(([column, value]) => [column, plainOf(value)]));
}

/** Returns the value for a hook: as its kind has read it, or as in the body. */
export function plainOf(value: unknown): unknown {
  if (!(value instanceof GivenValue)) return value;
  return value.fault === null ? value.read : value.given;
}
