import type { PlannedStatement } from "../../../compile/compile.ts";
import type { Plan } from "../../../plan/plan.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../../schema/table_info.ts";
import {
  identifier,
  join,
  sql,
  type Statement,
  tableName,
  toStatement,
} from "../../../sql/fragment.ts";
import { scanCheck } from "../../../sql/sqlite/time_check.ts";

/** What the widths of rows are measured with. */
export interface RowWidthsOptions {
  readonly clock: Pick<Clock, "elapsedMs">;
  /** The length of the longest value that was written since the last call, to whichever table. */
  readonly takeLongestWritten: () => number;
  /** Gives the one number that a statement reads; a promise where that takes longer. */
  readonly measure: (statement: Statement) => number | Promise<number>;
}

/** A measured width is used for so long, and longer where measuring takes long. */
const freshForMs = 60_000;
/** The part of the time that measuring one table may take. */
const shareOfMeasuring = 1 / 200;
/** What a cell of a column takes whose values cannot be long. */
const bytesOfShortCell = 32;
/** A read that may give more bytes than this, in multiples of its limit, counts row by row. */
const maxExcess = 4;

/**
 * How many bytes the widest row of each table has: a read whose rows have few bytes, whichever they
 * are, may take them all at once, which is twice as fast as one by one.
 */
export class RowWidths {
  readonly #options: RowWidthsOptions;
  readonly #widths = new Map<TableInfo, { bytes: number; freshUntil: number }>();

  /** Nothing is measured before the first read. */
  constructor(options: RowWidthsOptions) {
    this.#options = options;
  }

  /** Whether all rows of a statement fit in memory before their bytes are counted. */
  fitAtOnce(statement: Statement, maxBytes: number): boolean {
    // A statement has a plan when a compiler made it.
    const plan = "plan" in statement ? (statement as PlannedStatement).plan : null;
    const rows = plan === null ? null : rowsOf(plan);
    const written = this.#options.takeLongestWritten();
    if (written > 0) this.#widen(written);
    return rows !== null &&
      (rows.most === 0 || rows.most * this.#width(rows.table) <= maxExcess * maxBytes);
  }

  #widen(length: number): void {
    for (const [table, width] of this.#widths) {
      width.bytes = Math.max(width.bytes, length * longColumns(table).length);
    }
  }

  #width(table: TableInfo): number {
    const known = this.#widths.get(table);
    const now = this.#options.clock.elapsedMs();
    if (known !== undefined && now < known.freshUntil) return known.bytes;
    const columns = longColumns(table);
    const short = (table.columns.length - columns.length) * bytesOfShortCell;
    if (columns.length === 0) return short;
    const width = known ?? { bytes: Infinity, freshUntil: 0 };
    this.#widths.set(table, width);
    // Until it is measured, or where that takes too long.
    width.freshUntil = now + 10 * freshForMs;
    const measured = (bytes: number) => {
      const doneAt = this.#options.clock.elapsedMs();
      width.bytes = short + bytes;
      width.freshUntil = doneAt + Math.max(freshForMs, (doneAt - now) / shareOfMeasuring);
    };
    const bytes = this.#options.measure(widest(table, columns));
    if (typeof bytes === "number") measured(bytes);
    else bytes.then(measured, () => (width.bytes = Infinity));
    return width.bytes;
  }
}

/** The most rows that a plan gives, and the table of their cells; 0 for a number alone. */
function rowsOf(plan: Plan): { readonly table: TableInfo; readonly most: number } | null {
  switch (plan.kind) {
    case "read":
      return plan.limit === null ? null : { table: plan.table, most: plan.limit };
    case "related": {
      return { table: plan.relation.target, most: plan.most };
    }
    case "aggregate":
      // A column may be a key and both extremes.
      return { table: plan.table, most: 3 * plan.limit };
    case "count":
    case "estimate":
      return { table: plan.table, most: 0 };
    default:
      return null;
  }
}

/** Every cell of an existing table may be long: SQLite does not enforce types. */
function longColumns({ own, columns }: TableInfo): readonly ColumnInfo[] {
  return own ? columns.filter(({ kind }) => longKinds.has(kind)) : columns;
}

const longKinds: ReadonlySet<string> = new Set(["text", "json", "bytes"]);

/** The widths of one column and another may be those of different rows. */
function widest(table: TableInfo, columns: readonly ColumnInfo[]): Statement {
  const lengths = columns.map(({ dbName }) => sql`ifnull(octet_length(${identifier(dbName)}), 0)`);
  return toStatement(
    sql`SELECT max(${join(lengths, " + ")}) FROM ${tableName(table)} WHERE ${scanCheck()}`,
    () => "?",
  );
}
