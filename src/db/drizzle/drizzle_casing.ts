import type { DrizzleDatabase } from "./drizzle_database.ts";

/**
 * Returns the function by which a database of Drizzle 0.45 with the option `casing` names columns.
 * Returns null if columns have the names of their properties.
 */
export function casingOf(database: DrizzleDatabase): ((name: string) => string) | null {
  // Any member may be missing. Therefore each is checked before its use.
  const { dialect } = database as MaybeCased;
  const convert = dialect?.casing?.convert;
  if (typeof convert !== "function") return null;
  return convert("aB") === "aB" && convert("a_b") === "a_b" ? null : convert;
}

interface MaybeCased {
  readonly dialect?: { readonly casing?: { readonly convert?: (name: string) => string } };
}
