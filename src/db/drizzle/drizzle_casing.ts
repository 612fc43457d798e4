import type { DrizzleDatabase } from "./drizzle_database.ts";

/**
 * How a database of Drizzle 0.45 calls the columns that have no name of their own, by its option
 * `casing`; null if it takes the names of the properties.
 */
export function casingOf(database: DrizzleDatabase): ((name: string) => string) | null {
  // Each member may be missing, which is asked before it is used.
  const { dialect } = database as MaybeCased;
  const convert = dialect?.casing?.convert;
  if (typeof convert !== "function") return null;
  return convert("aB") === "aB" && convert("a_b") === "a_b" ? null : convert;
}

interface MaybeCased {
  readonly dialect?: { readonly casing?: { readonly convert?: (name: string) => string } };
}
