import type { Filter } from "../../../../filter/filter.ts";
import type { AggregatePlan, CountPlan } from "../../../../plan/plan.ts";
import type { Clock } from "../../../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../../../schema/table_info.ts";
import {
  identifier,
  sql,
  type Statement,
  tableName,
  toStatement,
} from "../../../../sql/fragment.ts";

/** What the sizes of tables are found with. */
export interface ShortScansOptions {
  readonly clock: Pick<Clock, "elapsedMs">;
  /** Returns the one number that a statement reads. */
  readonly read: (statement: Statement) => number;
  /** The bytes of the widest row of a table; Infinity where that is not known. */
  readonly widestRow: (table: TableInfo) => number;
}

/** A statement may look at so many values without a check of the time: a few milliseconds. */
const maxValues = 200_000;
/** And at so many bytes of rows. */
const maxBytes = 16 * 1024 * 1024;
/** Groups are made by sorting: each row is compared with several others. */
const valuesOfKey = 8;
/** Long enough to cost nothing, and too short for a table to grow by much more than it may have. */
const freshForMs = 100;

/** The plan of a statement that may be a scan. */
export type ScanPlan = CountPlan | AggregatePlan;

interface TableSize {
  /** The most rows that the table may have. */
  readonly rows: number;
  readonly freshUntil: number;
}

/**
 * Finds the scans that are short whichever rows there are: counts and aggregates of a table with few
 * rows. They end in time by themselves and need no check of the time, which takes as long as all else
 * in a count.
 */
export class ShortScans {
  readonly #options: ShortScansOptions;
  readonly #sizes = new Map<TableInfo, TableSize>();

  /** No size is known. */
  constructor(options: ShortScansOptions) {
    this.#options = options;
  }

  /** Returns true if the statement with this plan is a short scan. */
  includes(plan: ScanPlan): boolean {
    const { table } = plan;
    const values = valuesOf(plan);
    const key = numberedKey(table);
    if (values === Infinity || key === null) return false;
    const rows = this.#rowsOf(table, key);
    return rows * values <= maxValues && rows * this.#options.widestRow(table) <= maxBytes;
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

/** How many values a plan looks at in each row; Infinity where it looks at other rows as well. */
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
    case "and":
    case "or":
      return filter.terms.reduce((sum, term) => sum + valuesOfFilter(term), 0);
    case "related":
      return Infinity;
    default:
      return 0;
  }
}

/** A single integer as the key is the rowid: its least and its greatest value bound the rows. */
function numberedKey({ own, primaryKey: [key, another] }: TableInfo): ColumnInfo | null {
  return own && key?.kind === "integer" && another === undefined ? key : null;
}

function rangeOf(key: ColumnInfo, table: TableInfo): Statement {
  const [name, from] = [identifier(key.dbName), tableName(table)];
  // In one SELECT, SQLite would look at every row.
  return toStatement(
    sql`SELECT 1 + (SELECT max(${name}) FROM ${from}) - (SELECT min(${name}) FROM ${from})`,
    () => "?",
  );
}
