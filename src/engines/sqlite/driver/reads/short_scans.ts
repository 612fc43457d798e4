import { type Filter, termsOnSameRow } from "../../../../filter/filter.ts";
import type { AggregatePlan, CountPlan } from "../../../../plan/plan.ts";
import type { Clock } from "../../../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../../../schema/table_info.ts";
import {
  identifier,
  join,
  sql,
  type Statement,
  tableName,
  toStatement,
} from "../../../../sql/fragment.ts";
import { kindProperties } from "../../../../schema/kinds/kind_properties.ts";
import { scanCheck } from "../../sql/time_check.ts";

interface ShortScansOptions {
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly read: (statement: Statement) => number;
  readonly widestRow: (table: TableInfo) => number;
  readonly totalBytes: (table: TableInfo) => number;
}

/** The maximum number of values in a scan without time checks. The scan takes a few ms. */
const maxValues = 200_000;
/** The maximum bytes of the rows that a scan without time checks can examine. */
const maxBytes = 16 * 1024 * 1024;
/** The cost of sorting a row for GROUP BY, as a number of values. A sort compares a row often. */
const valuesOfKey = 8;
/** How long a measured size is used, in milliseconds. A table grows little in this time. */
const freshForMs = 100;

export type ScanPlan = CountPlan | AggregatePlan;

/** Finds scans of tables with few rows. Without time checks, these scans are twice as fast. */
export class ShortScans {
  readonly #options: ShortScansOptions;
  readonly #sizes = new Map<TableInfo, { readonly rows: number; readonly freshUntil: number }>();

  constructor(options: ShortScansOptions) {
    this.#options = options;
  }

  /** Returns true for a short scan. The limits are higher if `isKnown`: it was short before. */
  includes(plan: ScanPlan, isKnown: boolean): boolean {
    const { table } = plan;
    const values = valuesOf(plan);
    const key = numberedKey(table);
    if (values === Infinity || key === null) return false;
    const rows = this.#rowsOf(table, key);
    const { widestRow, totalBytes } = this.#options;
    const bytes = rows * widestRow(table);
    return isKnown
      ? rows * values <= 4 * maxValues && Math.min(bytes, totalBytes(table)) <= 4 * maxBytes
      : rows * values <= maxValues && bytes <= maxBytes;
  }

  #rowsOf(table: TableInfo, key: ColumnInfo): number {
    const known = this.#sizes.get(table);
    const now = this.#options.clock.elapsedMs();
    if (known !== undefined && now < known.freshUntil) return known.rows;
    const rows = this.#options.read(rangeOf(key, table));
    this.#sizes.set(table, { rows, freshUntil: now + freshForMs });
    return rows;
  }
}

function valuesOf(plan: ScanPlan): number {
  const compared = 1 + valuesOfFilter(plan.where);
  return plan.kind === "count"
    ? compared
    : compared + valuesOfKey * plan.keys.length + plan.metrics.length;
}

function valuesOfFilter(filter: Filter): number {
  switch (filter.kind) {
    case "compare":
      return filter.values.length;
    case "related":
      return Infinity;
    default:
      return termsOnSameRow(filter).reduce((sum, term) => sum + valuesOfFilter(term), 0);
  }
}

/** Returns an integer key that is the row id: its minimum and maximum limit the number of rows. */
function numberedKey({ own, primaryKey: [key, another] }: TableInfo): ColumnInfo | null {
  return own && key?.kind === "integer" && another === undefined ? key : null;
}

function rangeOf(key: ColumnInfo, table: TableInfo): Statement {
  const [name, from] = [identifier(key.dbName), tableName(table)];
  // Minimum and maximum each have a SELECT: for both in one SELECT, SQLite would scan all rows.
  return toStatement(
    sql`SELECT 1 + (SELECT max(${name}) FROM ${from}) - (SELECT min(${name}) FROM ${from})`,
    () => "?",
  );
}

/** Returns the columns that can have long values: all columns, unless types are enforced. */
export function longColumns({ own, columns }: TableInfo): readonly ColumnInfo[] {
  return own ? columns.filter(({ kind }) => kindProperties[kind].isLong) : columns;
}

export function widestRowStatement(table: TableInfo, columns: readonly ColumnInfo[]): Statement {
  const lengths = columns.map(({ dbName }) => sql`ifnull(octet_length(${identifier(dbName)}), 0)`);
  return toStatement(
    sql`SELECT max(${join(lengths, " + ")}) FROM ${tableName(table)} WHERE ${scanCheck()}`,
    () => "?",
  );
}
