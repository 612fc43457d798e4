import { dbNameOf, type DrizzleColumn, entityKindOf } from "./drizzle_structure.ts";

export interface DrizzleSql {
  toQuery(config: unknown): { readonly sql: string };
}

export function isDrizzleSql(value: unknown): value is DrizzleSql {
  return entityKindOf(value) === "SQL";
}

export function sqlTextOf(piece: DrizzleSql): string {
  return piece.toQuery(declarations).sql;
}

const declarations = {
  casing: { getColumnCasing: (column: DrizzleColumn) => dbNameOf(column, column.table) },
  escapeName: (name: string) => `"${name.replaceAll('"', '""')}"`,
  escapeParam: () => "?",
  escapeString: (text: string) => `'${text.replaceAll("'", "''")}'`,
  inlineParams: true,
  // This value makes Drizzle write column names without the table.
  invokeSource: "indexes",
};
