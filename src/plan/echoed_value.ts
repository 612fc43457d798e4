import type { Assignments } from "./plan.ts";

/**
 * A value from a body that could be the value that the client has read from the row. If so, the
 * stored value stays unchanged, even if it is invalid for the column's kind or has another form.
 */
export class EchoedValue {
  readonly given: unknown;
  /** The value as parsed for the column, or undefined if it is invalid. */
  readonly read: unknown;
  /** The error message for an invalid value, or null if the value is valid. */
  readonly fault: string | null;

  /** Creates a value that the column's kind parsed, or rejected with the message `fault`. */
  constructor(given: unknown, read: unknown, fault: string | null) {
    this.given = given;
    this.read = read;
    this.fault = fault;
  }
}

/** Returns true if a value can be the row's current value, so that the row must be read first. */
export function hasEchoedValue(values: Assignments): boolean {
  for (const value of values.values()) {
    if (value instanceof EchoedValue) return true;
  }
  return false;
}

/** Returns the values with every {@link EchoedValue} converted by {@link valueForHook}. */
export function valuesForHooks(values: Assignments): Assignments {
  return new Map([...values].map(([column, value]) => [column, valueForHook(value)]));
}

/** Returns the value for a hook: the parsed value, or the value in the body if it is invalid. */
export function valueForHook(value: unknown): unknown {
  if (!(value instanceof EchoedValue)) return value;
  return value.fault === null ? value.read : value.given;
}
