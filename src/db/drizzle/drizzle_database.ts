import { entityKindOf } from "../../schema/drizzle/drizzle_structure.ts";

/** A database of Drizzle 0.45 or 1.0: the result of `drizzle(client)`. */
export interface DrizzleDatabase {
  /** The client of the database library. */
  readonly $client: object;
}

export function isDrizzleDatabase(value: unknown): value is DrizzleDatabase {
  return entityKindOf(value) !== null && typeof value === "object" && value !== null &&
    "$client" in value;
}
