import type { DrizzleDatabase } from "./drizzle_database.ts";

/** Returns the conversion of Drizzle 0.45's option `casing`, or null if names stay the same. */
export function casingOf(database: DrizzleDatabase): ((name: string) => string) | null {
  // Each member can be missing, so the code below checks each before its use.
  const { dialect } = database as {
    readonly dialect?: { readonly casing?: { readonly convert?: (name: string) => string } };
  };
  const convert = dialect?.casing?.convert;
  if (typeof convert !== "function") return null;
  return convert("aB") === "aB" && convert("a_b") === "a_b" ? null : convert;
}
