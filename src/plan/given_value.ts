import type { Assignments } from "./plan.ts";

/**
 * A value of a body that may be what the row shows already: then it leaves the stored value as it is,
 * which may be one that the column's kind does not have, or has in another form.
 */
export class GivenValue {
  /** As it stands in the body. */
  readonly given: unknown;
  /** As the kind of the column reads it; undefined if it refuses the value. */
  readonly read: unknown;
  /** Why it is refused; null if it is not. */
  readonly fault: string | null;

  /** A value whose kind has read it, or refused it with a message that completes "title …". */
  constructor(given: unknown, read: unknown, fault: string | null) {
    this.given = given;
    this.read = read;
    this.fault = fault;
  }
}

/** Returns true if an update must know the row, because some of its values may be what it shows already. */
export function hasUnchangedInput(values: Assignments): boolean {
  for (const value of values.values()) {
    if (value instanceof GivenValue) return true;
  }
  return false;
}

/** The values without what is known of them beside: {@link plainOf} each. */
export function plainValues(values: Assignments): Assignments {
  return new Map([...values].map(([column, value]) => [column, plainOf(value)]));
}

/** The value as a hook takes it: as the kind has read it, or as it was given. */
export function plainOf(value: unknown): unknown {
  if (!(value instanceof GivenValue)) return value;
  return value.fault === null ? value.read : value.given;
}
