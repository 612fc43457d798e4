import { dbNameOf, type DrizzleColumn, entityKindOf } from "./drizzle_structure.ts";

/** A piece of SQL that Drizzle's function `sql` has created. */
export interface DrizzleSql {
  toQuery(config: unknown): { readonly sql: string };
}

/** Returns true if Drizzle's function `sql` has created the value. */
export function isDrizzleSql(value: unknown): value is DrizzleSql {
  return entityKindOf(value) === "SQL";
}

/** Returns Drizzle's SQL as text for a declaration, with literals and unqualified column names. */
export function sqlTextOf(piece: DrizzleSql): string {
  return piece.toQuery(declarations).sql;
}

/** The functions that Drizzle requires from a dialect to write SQL. */
const declarations = {
  casing: { getColumnCasing: (column: DrizzleColumn) => dbNameOf(column, column.table) },
  escapeName: (name: string) => `"${name.replaceAll('"', '""')}"`,
  escapeParam: () => "?",
  escapeString: (text: string) => `'${text.replaceAll("'", "''")}'`,
  inlineParams: true,
  // With this setting, Drizzle writes column names without a table name.
  invokeSource: "indexes",
};
