import type { Filter } from "../filter/filter.ts";
import { type Key, keysFilter } from "../plan/key.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";
import { join, sql, type Statement, tableName, toStatement } from "../sql/fragment.ts";
import { compileFilter, compileFilterOnRows } from "./where.ts";

/** The input of a statement that evaluates filters on the table's rows with the given keys. */
export interface FiltersOnRows {
  readonly table: TableInfo;
  readonly columns: readonly ColumnInfo[];
  readonly keys: readonly Key[];
  readonly filters: readonly Filter[];
}

/**
 * Compiles the statement that evaluates filters on rows of a table. For each key whose row exists,
 * it returns the columns and a boolean for each filter. Related rows are from the same snapshot.
 */
export function compileFiltersOnRows(
  { table, columns, keys, filters }: FiltersOnRows,
  dialect: Dialect,
): Statement {
  const selected = join([
    ...columns.map((column) => dialect.selected(column)),
    ...filters.map((filter) => sql`(${compileFilterOnRows(filter, keys.length, dialect)}) IS TRUE`),
  ], ", ");
  const where = compileFilter(keysFilter(keys, table), dialect);
  return toStatement(
    sql`SELECT ${selected} FROM ${tableName(table)} WHERE ${where}`,
    dialect.placeholder,
  );
}
