import type { Filter } from "../filter/filter.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";
import {
  identifier,
  join,
  sql,
  type SqlValue,
  type Statement,
  tableName,
  toStatement,
} from "../sql/fragment.ts";
import { compileFilterOnRows } from "./where.ts";

/** The input of a statement for filters on row images, which need not be in the table. */
export interface FiltersOnImages {
  readonly table: TableInfo;
  readonly columns: readonly ColumnInfo[];
  /** The row images as stored values, in the order of `columns`. */
  readonly rows: readonly (readonly SqlValue[])[];
  readonly filters: readonly Filter[];
}

/**
 * Compiles the statement that evaluates filters on row images. Its result has a row for each image:
 * the image's number, from 1, and a boolean for each filter, as in a list request.
 */
export function compileFiltersOnImages(evaluation: FiltersOnImages, dialect: Dialect): Statement {
  const { table, columns, rows, filters } = evaluation;
  const ordinal = unusedPrefix(table);
  const truths = filters.map((filter) =>
    sql`(${compileFilterOnRows(filter, rows.length, dialect)}) IS TRUE`
  );
  const images = dialect.images.from({
    table,
    from: tableName(table),
    columns,
    rows,
    ordinal,
  });
  const selected = join([identifier(ordinal), ...truths], ", ");
  return toStatement(sql`SELECT ${selected} FROM ${images}`, dialect.placeholder);
}

/** Returns a prefix that no column name of the table has. SQLite ignores case in names. */
function unusedPrefix(table: TableInfo): string {
  const names = [table.name, ...table.columns.map(({ dbName }) => dbName)];
  let prefix = "_ordinal";
  while (names.some((name) => name.toLowerCase().startsWith(prefix))) prefix = `_${prefix}`;
  return prefix;
}
