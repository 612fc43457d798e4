import { tableInfoKey, type TableLike } from "../table_like.ts";
import { casingKey, columnsKey, isDrizzleTable } from "./drizzle_structure.ts";

/**
 * Sets the database names of Drizzle columns without an explicit name. Drizzle 0.45 derives such
 * names by `drizzle(client, { casing: "snake_case" })`, but the service reads only declarations.
 *
 * @throws {Error} If a table is already in use.
 * @example
 * ```ts ignore
 * import { nameColumns } from "@svc/resource-api/drizzle";
 * import { toSnakeCase } from "drizzle-orm/casing";
 *
 * nameColumns([notes, users], toSnakeCase);
 * ```
 */
export function nameColumns(
  tables: readonly TableLike<unknown, unknown>[],
  convert: (property: string) => string,
): void {
  for (const table of tables) {
    if (!isDrizzleTable(table) || table[casingKey] === convert) continue;
    const differs = Object.values(table[columnsKey]).some(({ name, keyAsName }) =>
      keyAsName === true && convert(name) !== name
    );
    if (!differs) continue;
    if (tableInfoKey in table || table[casingKey] !== undefined) {
      throw new Error(
        "Cannot name the columns of a table of Drizzle that is used already: call nameColumns() " +
          "where it is declared, or give each column its name",
      );
    }
    Object.defineProperty(table, casingKey, { value: convert });
  }
}
