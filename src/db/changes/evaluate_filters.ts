import { compileFiltersOnImages } from "../../compile/filters_on_images.ts";
import type { Filter } from "../../filter/filter.ts";
import { columnValue } from "../../filter/match/row_matches.ts";
import type { RowImage } from "../../filter/match/row_image.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import type { Connection } from "../driver.ts";

/** What is asked of the database: every filter about every row. */
export interface FilterEvaluation {
  readonly table: TableInfo;
  /** Rows as a change left them; they need not be in the table any more. */
  readonly images: readonly RowImage[];
  readonly filters: readonly Filter[];
}

/**
 * Whether the images pass the filters, as a list would decide it: the answer at `[i][f]` is for
 * `images[i]` and `filters[f]`. Related rows are those that the database has now.
 *
 * One statement, unless there are very many rows or values, or rows whose values do not fit.
 */
export async function evaluateFilters(
  connection: Connection,
  dialect: Dialect,
  question: FilterEvaluation,
): Promise<readonly (readonly boolean[])[]> {
  const { table, images, filters } = question;
  const columns = columnsOf(question);
  const rows = images.map((image) => storedRow(image, columns, dialect));
  const answers = images.map(() => new Array<boolean>(filters.length).fill(false));
  for (const part of filterParts(filters, dialect)) {
    for (const places of groupsOf(rows, columns, dialect)) {
      const some = places.map((place) => rows[place] ?? []);
      const statement = compileFiltersOnImages(
        { table, columns, rows: some, filters: part.filters },
        dialect,
      );
      const result = await connection.query(statement);
      for (const [number, ...truths] of result.rows) {
        const answer = answers[places[Number(number) - 1] ?? -1];
        truths.forEach((truth, index) => {
          if (answer !== undefined) answer[part.from + index] = isTrue(truth);
        });
      }
    }
  }
  return answers;
}

/** A truth as a driver reads it: Postgres says it by a letter, SQLite by a number. */
export function isTrue(truth: SqlValue): boolean {
  return truth === 1 || truth === "t";
}

/** What the filters look at; everything where SQL of somebody else may look at anything. */
function columnsOf({ table, filters }: FilterEvaluation): readonly ColumnInfo[] {
  const used = new Set<ColumnInfo>();
  const isPlain = filters.every((filter) => collect(filter, used));
  // A domain of a foreign table may refuse the NULL of a value that is left out.
  return isPlain && table.own ? table.columns.filter((column) => used.has(column)) : table.columns;
}

/** False where it cannot be told what is looked at. */
function collect(filter: Filter, used: Set<ColumnInfo>): boolean {
  switch (filter.kind) {
    case "all":
    case "none":
      return true;
    case "and":
    case "or":
      return filter.terms.every((term) => collect(term, used));
    case "related": {
      const [step] = filter.relation.steps;
      if (step !== undefined) used.add(step.own);
      return true;
    }
    case "compare":
      used.add(filter.column);
      return filter.operator.takes !== "texts";
  }
}

function storedRow(
  { row, inexact }: RowImage,
  columns: readonly ColumnInfo[],
  dialect: Dialect,
): readonly SqlValue[] {
  return columns.map((column) => {
    const stored = inexact?.get(column);
    return stored === undefined ? dialect.encode(columnValue(row, column), column) : stored;
  });
}

/** The places of rows that one statement may hold together. */
function groupsOf(
  rows: readonly (readonly SqlValue[])[],
  columns: readonly ColumnInfo[],
  { images, maxValues }: Dialect,
): readonly (readonly number[])[] {
  const most = Math.min(images.maxRows, Math.floor(maxValues / 2 / Math.max(1, columns.length)));
  const open = new Map<string, number[]>();
  const groups: number[][] = [];
  rows.forEach((row, place) => {
    const likeness = images.batchKey(row, columns);
    let group = open.get(likeness);
    if (group === undefined || group.length === most) {
      group = [];
      open.set(likeness, group);
      groups.push(group);
    }
    group.push(place);
  });
  return groups;
}

/** Filters that one statement has room for: every value is bound, every answer is a column. */
export function filterParts(
  filters: readonly Filter[],
  { maxValues }: Dialect,
): readonly { readonly from: number; readonly filters: readonly Filter[] }[] {
  // A value is bound twice at most: the folding operators of Postgres need two texts beside it.
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

/** A planner's work grows faster than the number of subqueries that it has before it. */
const maxFilters = 100;

function countValues(filter: Filter): number {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.terms.reduce((count, term) => count + countValues(term), 0);
    case "related":
      return countValues(filter.filter);
    case "compare":
      return filter.values.length;
    default:
      return 0;
  }
}
