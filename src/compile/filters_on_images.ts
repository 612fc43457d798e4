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
import { compileFilter } from "./where.ts";

/** Which filters do these rows pass, wherever they are now? */
export interface FiltersOnImages {
  readonly table: TableInfo;
  readonly columns: readonly ColumnInfo[];
  /** Stored values, in the order of `columns`. */
  readonly rows: readonly (readonly SqlValue[])[];
  readonly filters: readonly Filter[];
}

/**
 * The statement that answers it: a line for each row, with its number from 1 and then a truth for
 * each filter. The conditions are, letter for letter, those that a list would have.
 */
export function compileFiltersOnImages(question: FiltersOnImages, dialect: Dialect): Statement {
  const { table, columns, rows, filters } = question;
  const place = freePrefix(table);
  const answers = filters.map((filter) => sql`(${compileFilter(filter, dialect)}) IS TRUE`);
  const images = dialect.images.from({
    table,
    from: tableName(table),
    columns,
    rows,
    ordinal: place,
  });
  const selected = join([identifier(place), ...answers], ", ");
  return toStatement(sql`SELECT ${selected} FROM ${images}`, dialect.placeholder);
}

/** A name that no name of the table begins with, also not in the eyes of SQLite. */
function freePrefix(table: TableInfo): string {
  const names = [table.name, ...table.columns.map(({ dbName }) => dbName)];
  let prefix = "_place";
  while (names.some((name) => name.toLowerCase().startsWith(prefix))) prefix = `_${prefix}`;
  return prefix;
}
