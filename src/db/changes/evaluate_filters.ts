import { compileFilterOnRows } from "../../compile/where.ts";
import { type Filter, termsOnSameRow } from "../../filter/filter.ts";
import { columnValue, type RowImage, storedForm } from "../../filter/match/row_matches.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import {
  identifier,
  join,
  sql,
  type SqlValue,
  type Statement,
  tableName,
  toStatement,
} from "../../sql/fragment.ts";
import type { Connection } from "../driver.ts";

/** Filters, and the row images (rows before or after a change) on which to evaluate them. */
export interface FilterEvaluation {
  readonly table: TableInfo;
  /** The row images. Their rows may have been changed or deleted since. */
  readonly images: readonly RowImage[];
  readonly filters: readonly Filter[];
}

/** Returns at `[i][f]` the result of `filters[f]` for `images[i]` and the current related rows. */
export async function evaluateFilters(
  connection: Connection,
  dialect: Dialect,
  evaluation: FilterEvaluation,
): Promise<readonly (readonly boolean[])[]> {
  const { table, images, filters } = evaluation;
  const columns = columnsOfFilters(evaluation);
  const rows = images.map((image) =>
    columns.map((column) => {
      return storedForm(image.row, column) ??
        dialect.encode(columnValue(image.row, column), column);
    })
  );
  const results = images.map(() => new Array<boolean>(filters.length).fill(false));
  for (const part of filterParts(filters, dialect)) {
    for (const indexes of imageBatches(rows, columns, dialect)) {
      const batch = indexes.map((index) => rows[index] ?? []);
      const evaluated = await connection.query(
        compileOnImages(table, columns, batch, part.filters, dialect),
      );
      for (const [number, ...truths] of evaluated.rows) {
        const result = results[indexes[Number(number) - 1] ?? -1];
        truths.forEach((truth, index) => {
          if (result !== undefined) result[part.from + index] = isTrue(truth);
        });
      }
    }
  }
  return results;
}

/** Returns true if the result cell of a filter is SQL's TRUE: `t` on Postgres, and 1 on SQLite. */
export function isTrue(truth: SqlValue): boolean {
  return truth === 1 || truth === "t";
}

/** Compiles a statement that returns each image's number, from 1, and a boolean for each filter. */
function compileOnImages(
  table: TableInfo,
  columns: readonly ColumnInfo[],
  rows: readonly (readonly SqlValue[])[],
  filters: readonly Filter[],
  dialect: Dialect,
): Statement {
  // A name with which no column name of the table begins. SQLite ignores case in names.
  const names = [table.name, ...table.columns.map(({ dbName }) => dbName)];
  let ordinal = "_ordinal";
  while (names.some((name) => name.toLowerCase().startsWith(ordinal))) ordinal = `_${ordinal}`;
  const truths = filters.map((filter) =>
    sql`(${compileFilterOnRows(filter, rows.length, dialect)}) IS TRUE`
  );
  const images = dialect.images.from({ table, from: tableName(table), columns, rows, ordinal });
  const selected = join([identifier(ordinal), ...truths], ", ");
  return toStatement(sql`SELECT ${selected} FROM ${images}`, dialect.placeholder);
}

/** Returns the columns that the filters may read: all columns for handwritten SQL. */
export function columnsOfFilters(
  { table, filters }: Pick<FilterEvaluation, "table" | "filters">,
): readonly ColumnInfo[] {
  const used = new Set<ColumnInfo>();
  const isPlain = filters.every((filter) => collect(filter, used));
  // An omitted column would be NULL in the statement. A domain of an introspected table can reject
  // NULL, so such a table keeps all columns.
  return isPlain && table.own ? table.columns.filter((column) => used.has(column)) : table.columns;
}

/** Adds the filter's columns to `used`. Returns false for handwritten SQL (unknown columns). */
function collect(filter: Filter, used: Set<ColumnInfo>): boolean {
  switch (filter.kind) {
    case "all":
    case "none":
      return true;
    case "and":
    case "or":
    case "not":
      return termsOnSameRow(filter).every((term) => collect(term, used));
    case "related": {
      for (const column of filter.relation.steps[0].own) used.add(column);
      return true;
    }
    case "compare":
      used.add(filter.column);
      return filter.operator.takes !== "texts";
  }
}

function imageBatches(
  rows: readonly (readonly SqlValue[])[],
  columns: readonly ColumnInfo[],
  { images, maxValues }: Dialect,
): readonly (readonly number[])[] {
  const maxPerValues = Math.floor(maxValues / 2 / Math.max(1, columns.length));
  const maxLength = Math.min(images.maxRows, maxPerValues);
  const open = new Map<string, number[]>();
  const batches: number[][] = [];
  rows.forEach((row, index) => {
    const key = images.batchKey(row, columns);
    let batch = open.get(key);
    if (batch === undefined || batch.length === maxLength) {
      batch = [];
      open.set(key, batch);
      batches.push(batch);
    }
    batch.push(index);
  });
  return batches;
}

export function filterParts(
  filters: readonly Filter[],
  { maxValues }: Dialect,
): readonly { readonly from: number; readonly filters: readonly Filter[] }[] {
  // Row images use half of the placeholders. In Postgres, ignoring case takes four per value.
  const room = Math.floor(maxValues / 2);
  const parts: { from: number; filters: Filter[]; values: number }[] = [];
  filters.forEach((filter, from) => {
    const values = 4 * countValues(filter);
    let part = parts.at(-1);
    if (
      part === undefined || part.filters.length === maxFilters || part.values + values > room
    ) {
      part = { from, filters: [], values: 0 };
      parts.push(part);
    }
    part.filters.push(filter);
    part.values += values;
  });
  return parts;
}

/** The maximum number of filters in a statement. With more filters, planning takes too long. */
const maxFilters = 100;

/** The number of placeholders to reserve for a JSON path, whose names are bound several times. */
const valuesOfPath = 32;

function countValues(filter: Filter): number {
  switch (filter.kind) {
    case "related":
      return countValues(filter.filter);
    case "compare":
      return filter.values.length + (filter.path === undefined ? 0 : valuesOfPath);
    default:
      return termsOnSameRow(filter).reduce((count, term) => count + countValues(term), 0);
  }
}
