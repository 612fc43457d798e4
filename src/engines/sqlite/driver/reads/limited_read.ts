import type { Clock } from "../../../../runtime/runtime.ts";
import {
  identifier,
  join,
  sql,
  type Statement,
  tableName,
  toStatement,
} from "../../../../sql/fragment.ts";
import { DatabaseError } from "../../../../db/database_error.ts";
import type { QueryResult, ReadLimits } from "../../../../db/driver.ts";
import { type BytesLeft, fixedLimit, InlineTime, unlimitedBytes } from "../read_limits.ts";
import type { ReaderThreads } from "./reader_threads.ts";
import { ShortScans } from "./short_scans.ts";
import type { SqliteConnection } from "../sqlite_connection.ts";
import type { PlannedStatement } from "../../../../compile/compile.ts";
import type { Plan } from "../../../../plan/plan.ts";
import type { ColumnInfo, TableInfo } from "../../../../schema/table_info.ts";
import { scanCheck } from "../../sql/time_check.ts";

/** What limited reads of a SQLite file work with. */
export interface LimitedReadsOptions {
  readonly reader: SqliteConnection;
  readonly clock: Clock;
  readonly threads: ReaderThreads;
  /** The length of the longest value that was written since the last call; 0 for none. */
  readonly takeLongestWritten: () => number;
}

/** A read of one request: its rows, or a promise of them where the read takes longer. */
export type LimitedReadOf = (statement: Statement) => QueryResult | Promise<QueryResult>;

/**
 * The reads of a SQLite file that may look at many rows. Each begins in this thread, where most end
 * within a fraction of a millisecond. One that takes longer blocks all requests: it is ended, and
 * begins again elsewhere. One that is known to take longer begins there.
 */
export class LimitedReads {
  readonly #options: LimitedReadsOptions;
  readonly #inline: InlineTime = new InlineTime();
  readonly #widths: RowWidths;
  readonly #shortScans: ShortScans;

  /** Measures nothing yet. */
  constructor(options: LimitedReadsOptions) {
    this.#options = options;
    const { clock, takeLongestWritten } = options;
    const read = (statement: Statement) => numberOf(options.reader.run(statement));
    this.#widths = new RowWidths({
      clock,
      takeLongestWritten,
      measure: (statement) => this.#measure(statement),
      measureElsewhere: (statement) => this.#measureElsewhere(statement),
      databaseBytes: () => read(databaseSize),
    });
    this.#shortScans = new ShortScans({
      clock,
      read,
      widestRow: (table) => this.#widths.widestRow(table),
    });
  }

  /** The reads of one request, which share its bytes. */
  of(limits: ReadLimits): LimitedReadOf {
    const bytes: BytesLeft = { left: limits.maxBytes };
    return (statement) => this.#read(statement, limits, bytes);
  }

  #read(
    statement: Statement,
    limits: ReadLimits,
    bytes: BytesLeft,
  ): QueryResult | Promise<QueryResult> {
    const { reader } = this.#options;
    if (limits.isLong === true) return this.#readElsewhere(statement, limits, bytes);
    const plan = planOf(statement);
    const { atOnce, isElsewhere } = this.#widths.strategyFor(plan, bytes.left);
    if (isElsewhere) return this.#readElsewhere(statement, limits, bytes);
    const before = bytes.left;
    const isScan = plan?.kind === "count" || plan?.kind === "aggregate";
    const isShort = atOnce && isScan && this.#shortScans.includes(plan);
    try {
      return reader.read(statement, { bytes, time: this.#inline, atOnce, isShort });
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.kind !== "too-slow") throw error;
      bytes.left = before;
    }
    return this.#readElsewhere(statement, limits, bytes, atOnce);
  }

  /** In a thread, or with its whole time in this one where there is no other. */
  #readElsewhere(
    statement: Statement,
    limits: ReadLimits,
    bytes: BytesLeft,
    atOnce = false,
  ): Promise<QueryResult> {
    const { reader, threads } = this.#options;
    const time = fixedLimit(limits.timeoutMs, () => false);
    const inline = () => reader.read(statement, { bytes, time, atOnce });
    return threads.run({ statement, limits, bytes, inline });
  }

  /** Seldom: the widths of a small table are worth a little more time than other reads have. */
  #measure(statement: Statement): number | null {
    const time = fixedLimit(maxInlineMeasureMs, () => false);
    try {
      return numberOf(
        this.#options.reader.read(statement, { bytes: unlimitedBytes, time, atOnce: true }),
      );
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === "too-slow") return null;
      throw error;
    }
  }

  async #measureElsewhere(statement: Statement): Promise<number> {
    const limits: ReadLimits = {
      identity: "the widths of rows",
      signal: new AbortController().signal,
      maxBytes: Infinity,
      timeoutMs: maxMeasureMs,
    };
    return numberOf(await this.#readElsewhere(statement, limits, { left: Infinity }));
  }
}

function planOf(statement: Statement): Plan | null {
  // A statement has a plan when a compiler made it.
  return "plan" in statement ? (statement as PlannedStatement).plan : null;
}

function numberOf({ rows }: QueryResult): number {
  return Number(rows[0]?.[0] ?? 0);
}

const databaseSize: Statement = {
  text: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
  values: [],
};

const maxInlineMeasureMs = 10;
const maxMeasureMs = 5_000;

/** What the widths of rows are measured with. */
export interface RowWidthsOptions {
  readonly clock: Pick<Clock, "elapsedMs">;
  /** The length of the longest value that was written since the last call, to whichever table. */
  readonly takeLongestWritten: () => number;
  /** Returns the one number that a statement reads; null if that takes long. */
  readonly measure: (statement: Statement) => number | null;
  /** The same elsewhere, however long it takes. */
  readonly measureElsewhere: (statement: Statement) => Promise<number>;
  /** The size of the whole database. */
  readonly databaseBytes: () => number;
}

/** How the rows of a read are to be read. */
export interface ReadStrategy {
  /** True if all of them fit in memory before their bytes are counted. */
  readonly atOnce: boolean;
  /** True if another thread is to read them, in any case. */
  readonly isElsewhere: boolean;
}

const atOnce: ReadStrategy = { atOnce: true, isElsewhere: false };
const rowByRow: ReadStrategy = { atOnce: false, isElsewhere: false };
const elsewhere: ReadStrategy = { atOnce: false, isElsewhere: true };

/** What is known of the rows of a table. */
interface TableWidth {
  /** Of its widest row; Infinity where it was not measured. */
  bytes: number;
  /** Of all its rows; Infinity where the widest one says more. */
  total: number;
  freshUntil: number;
}

/** A measured width is used for so long, and longer where measuring takes long. */
const freshForMs = 60_000;
/** The part of the time that measuring one table may take. */
const shareOfMeasuring = 1 / 200;
/** What a cell of a column takes whose values cannot be long. */
const bytesOfShortCell = 32;
/**
 * A read of a table with a row so wide runs elsewhere from the start: the time is looked at between
 * rows, and to sort fifty of a megabyte takes longer than any read may take here.
 */
const wideRow = 64 * 1024;
/** A value so long may make rows much wider than they were. */
const longValue = 64 * 1024;
/** A read that may give more bytes than this, in multiples of its limit, counts row by row. */
const maxExcess = 4;

/**
 * How many bytes the widest row of each table has: a read whose rows have few bytes, whichever they
 * are, may take them all at once, which is twice as fast as one by one.
 */
export class RowWidths {
  readonly #options: RowWidthsOptions;
  readonly #widths = new Map<TableInfo, TableWidth>();

  /** Nothing is measured before the first read. */
  constructor(options: RowWidthsOptions) {
    this.#options = options;
  }

  /** Returns how the rows of a statement with this plan are to be read; null for an unknown plan. */
  strategyFor(plan: Plan | null, maxBytes: number): ReadStrategy {
    const rows = plan === null ? null : rowsOf(plan);
    const written = this.#options.takeLongestWritten();
    if (written > 0) this.#widen(written);
    if (rows === null) return rowByRow;
    // Nothing can end what a view does by itself, and to measure it would take as long.
    if (rows.table.readOnly) return elsewhere;
    const most = maxExcess * maxBytes;
    const width = this.#width(rows.table, most);
    const isWide = wideRow < width.bytes && width.bytes < Infinity;
    const fits = rows.most * width.bytes <= most || (rows.isOnce && width.total <= most);
    return isWide ? elsewhere : fits ? atOnce : rowByRow;
  }

  /** The bytes of the widest row of a table, as far as it is known; else Infinity. */
  widestRow(table: TableInfo): number {
    return this.#widths.get(table)?.bytes ?? Infinity;
  }

  #widen(length: number): void {
    for (const [table, width] of this.#widths) {
      width.bytes = Math.max(width.bytes, length * longColumns(table).length);
      if (length >= longValue && width.total !== Infinity) this.#widths.delete(table);
    }
  }

  #width(table: TableInfo, most: number): TableWidth {
    const known = this.#widths.get(table);
    const now = this.#options.clock.elapsedMs();
    if (known !== undefined && now < known.freshUntil) return known;
    const width = known ?? { bytes: Infinity, total: Infinity, freshUntil: 0 };
    this.#widths.set(table, width);
    this.#measure(table, width, most, now);
    return width;
  }

  #measure(table: TableInfo, width: TableWidth, most: number, now: number): void {
    const { clock, measure, measureElsewhere, databaseBytes } = this.#options;
    const columns = longColumns(table);
    const short = (table.columns.length - columns.length) * bytesOfShortCell;
    const measured = (bytes: number) => {
      const doneAt = clock.elapsedMs();
      width.bytes = short + bytes;
      width.total = Infinity;
      width.freshUntil = doneAt + Math.max(freshForMs, (doneAt - now) / shareOfMeasuring);
    };
    if (columns.length === 0) return measured(0);
    const statement = widest(table, columns);
    const bytes = measure(statement);
    if (bytes !== null) return measured(bytes);
    width.bytes = Infinity;
    width.total = databaseBytes();
    width.freshUntil = now + freshForMs;
    // Where no page can have more, the widest row need not be known, nor a thread be started for it.
    if (width.total <= most) return;
    width.total = Infinity;
    // Until it is measured, or where that takes too long.
    width.freshUntil = now + 10 * freshForMs;
    measureElsewhere(statement).then(measured, () => {});
  }
}

interface RowsOfPlan {
  /** The table of their cells. */
  readonly table: TableInfo;
  /** The most of them; 0 where the plan gives a number alone. */
  readonly most: number;
  /** True if none of them is there more than once. */
  readonly isOnce: boolean;
}

function rowsOf(plan: Plan): RowsOfPlan | null {
  switch (plan.kind) {
    case "read":
      return plan.limit === null ? null : { table: plan.table, most: plan.limit, isOnce: true };
    case "related":
      return { table: plan.relation.target, most: plan.most, isOnce: false };
    case "aggregate":
      // A column may be a key and both extremes.
      return { table: plan.table, most: 3 * plan.limit, isOnce: false };
    case "count":
    case "estimate":
      return { table: plan.table, most: 0, isOnce: true };
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
