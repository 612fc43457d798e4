import { dbNameOf, type DrizzleColumn, entityKindOf } from "./drizzle_structure.ts";

/** A piece of SQL that Drizzle's `sql` has created. */
export interface DrizzleSql {
  toQuery(config: unknown): { readonly sql: string };
}

/** Returns true if a value is a piece of SQL of Drizzle. */
export function isDrizzleSql(value: unknown): value is DrizzleSql {
  return entityKindOf(value) === "SQL";
}

/** Returns the text of SQL in a declaration, with inlined values and without table names. */
export function sqlTextOf(piece: DrizzleSql): string {
  return piece.toQuery(declarations).sql;
}

/** The functions that Drizzle calls on a dialect to write SQL. */
const declarations = {
  casing: { getColumnCasing: (column: DrizzleColumn) => dbNameOf(column, column.table) },
  escapeName: (name: string) => `"${name.replaceAll('"', '""')}"`,
  escapeParam: () => "?",
  escapeString: (text: string) => `'${text.replaceAll("'", "''")}'`,
  inlineParams: true,
  // Writes columns without the name of their table.
  invokeSource: "indexes",
};
