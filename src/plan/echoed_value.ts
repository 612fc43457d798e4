import type { Assignments } from "./plan.ts";

/** A value from a body. If it equals the row's value as clients read it, the stored value stays. */
export class EchoedValue {
  readonly given: unknown;
  /** The value as the column's kind parsed it, or undefined if the value is invalid. */
  readonly read: unknown;
  readonly fault: string | null;

  constructor(given: unknown, read: unknown, fault: string | null) {
    this.given = given;
    this.read = read;
    this.fault = fault;
  }
}

/** Returns true if a value may be the row's current value. Then the row must be read first. */
export function hasEchoedValue(values: Assignments): boolean {
  for (const value of values.values()) {
    if (value instanceof EchoedValue) return true;
  }
  return false;
}

export function valuesForHooks(values: Assignments): Assignments {
  return new Map([...values].map(([column, value]) => [column, valueForHook(value)]));
}

/** Returns the value for a hook: the parsed value, or the unparsed value if it is invalid. */
export function valueForHook(value: unknown): unknown {
  if (!(value instanceof EchoedValue)) return value;
  return value.fault === null ? value.read : value.given;
}
