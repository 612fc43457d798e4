import type { Clock } from "../../../../runtime/runtime.ts";
import type { Statement } from "../../../../sql/fragment.ts";
import { DatabaseError } from "../../../../db/database_error.ts";
import type { QueryResult, ReadLimits } from "../../../../db/driver.ts";
import { StatementDurations } from "../../../../db/statement_durations.ts";
import {
  fixedTimeLimit,
  InlineTimeLimit,
  type RemainingBytes,
  type TimeLimit,
  unlimitedBytes,
} from "../read_limits.ts";
import type { ReaderThreads } from "./reader_threads.ts";
import { longColumns, type ScanPlan, ShortScans, widestRowStatement } from "./short_scans.ts";
import type { SqliteConnection } from "../sqlite_connection.ts";
import type { PlannedStatement } from "../../../../compile/compile.ts";
import type { Plan } from "../../../../plan/plan.ts";
import type { TableInfo } from "../../../../schema/table_info.ts";

export interface LimitedReadsOptions {
  readonly reader: SqliteConnection;
  readonly clock: Clock;
  readonly threads: ReaderThreads;
  readonly takeLongestWritten: () => number;
}

/** If a count or aggregate is expected to take longer than this, in ms, another thread runs it. */
const shortScanMs = 2;
/** The time limit of a scan that was short before, and a quarter of it if the scan can sort. */
const knownLimit: TimeLimit = {
  ...fixedTimeLimit(4 * shortScanMs, () => false),
  limitMs: (_now, sorts) => sorts ? shortScanMs : 4 * shortScanMs,
};

export type RunLimitedRead = (statement: Statement) => QueryResult | Promise<QueryResult>;

/** Aborts a long read in the main thread, where it blocks all requests. Another thread runs it. */
export class LimitedReads {
  readonly #options: LimitedReadsOptions;
  readonly #inline: InlineTimeLimit = new InlineTimeLimit();
  readonly #widths: RowWidths;
  readonly #shortScans: ShortScans;
  readonly #durations: StatementDurations = new StatementDurations(shortScanMs);

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
      totalBytes: (table) => this.#widths.totalBytes(table),
    });
  }

  of(limits: ReadLimits): RunLimitedRead {
    const bytes: RemainingBytes = { left: limits.maxBytes };
    return (statement) => this.#read(statement, limits, bytes);
  }

  #read(
    statement: Statement,
    limits: ReadLimits,
    bytes: RemainingBytes,
  ): QueryResult | Promise<QueryResult> {
    const { reader, clock } = this.#options;
    if (limits.isLong === true) return this.#readElsewhere(statement, limits, bytes);
    const plan = planOf(statement);
    const { atOnce, isElsewhere } = this.#widths.strategyFor(plan, bytes.left);
    const isScan = isScanPlan(plan);
    const expectedMs = isScan ? this.#durations.expectedMs(statement) : undefined;
    if (isElsewhere || (expectedMs ?? 0) > shortScanMs) {
      return this.#readElsewhere(statement, limits, bytes);
    }
    const before = bytes.left;
    const isKnown = expectedMs !== undefined;
    const isShort = atOnce && isScan && this.#shortScans.includes(plan, isKnown);
    const time = isKnown ? knownLimit : this.#inline;
    const beganAt = isScan ? clock.elapsedMs() : 0;
    try {
      const result = reader.read(statement, { bytes, time, atOnce, isShort });
      if (isScan) this.#durations.measured(statement, clock.elapsedMs() - beganAt);
      return result;
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.kind !== "too-slow") throw error;
      bytes.left = before;
      // Records the time of the aborted read, so that the next such read uses another thread.
      if (isKnown) this.#durations.measured(statement, clock.elapsedMs() - beganAt);
    }
    return this.#readElsewhere(statement, limits, bytes, atOnce);
  }

  /** Reads in another thread, or, if there is none, in the main thread without a time limit. */
  #readElsewhere(
    statement: Statement,
    limits: ReadLimits,
    bytes: RemainingBytes,
    atOnce = false,
  ): Promise<QueryResult> {
    const { reader, threads } = this.#options;
    const time = fixedTimeLimit(limits.timeoutMs, () => false);
    const inline = () => reader.read(statement, { bytes, time, atOnce });
    const measured = (ms: number) => {
      if (isScanPlan(planOf(statement))) this.#durations.measured(statement, ms);
    };
    return threads.run({ statement, limits, bytes, inline, measured });
  }

  #measure(statement: Statement): number | null {
    const time = fixedTimeLimit(maxInlineMeasureMs, () => false);
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

function isScanPlan(plan: Plan | null): plan is ScanPlan {
  return plan?.kind === "count" || plan?.kind === "aggregate" && plan.relatedTo === undefined;
}

function planOf(statement: Statement): Plan | null {
  // The cast is safe: only the compiler adds a plan to a statement.
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

export interface RowWidthsOptions {
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly takeLongestWritten: () => number;
  readonly measure: (statement: Statement) => number | null;
  readonly measureElsewhere: (statement: Statement) => Promise<number>;
  readonly databaseBytes: () => number;
}

export interface ReadStrategy {
  readonly atOnce: boolean;
  readonly isElsewhere: boolean;
}

const atOnce: ReadStrategy = { atOnce: true, isElsewhere: false };
const rowByRow: ReadStrategy = { atOnce: false, isElsewhere: false };
const elsewhere: ReadStrategy = { atOnce: false, isElsewhere: true };

interface TableWidth {
  bytes: number;
  /** An upper bound of the bytes of all rows: the database's size if it is small, or Infinity. */
  total: number;
  freshUntil: number;
}

const freshForMs = 60_000;
/** The maximum share of the elapsed time that is spent on measuring one table. */
const shareOfMeasuring = 1 / 200;
const bytesOfShortCell = 32;
/** Another thread reads tables with rows of this many bytes, because sorts would take too long. */
const wideRow = 64 * 1024;
/** If a written value has this many bytes, rows can be much wider than when they were measured. */
const longValue = 64 * 1024;
/** The factor by which a read can exceed its byte limit if its rows' bytes are not counted. */
const maxExcess = 4;

/** Measures each table's widest row, because reading small rows all together is twice as fast. */
export class RowWidths {
  readonly #options: RowWidthsOptions;
  readonly #widths = new Map<TableInfo, TableWidth>();

  constructor(options: RowWidthsOptions) {
    this.#options = options;
  }

  strategyFor(plan: Plan | null, maxBytes: number): ReadStrategy {
    const rows = plan === null ? null : rowsOf(plan);
    const written = this.#options.takeLongestWritten();
    if (written > 0) this.#widen(written);
    if (rows === null) return rowByRow;
    // Another thread reads a view: no check aborts such a read, and measuring takes as long.
    if (!rows.table.recordable) return elsewhere;
    const most = maxExcess * maxBytes;
    const width = this.#width(rows.table, most);
    const isWide = wideRow < width.bytes && width.bytes < Infinity;
    const fits = rows.most * width.bytes <= most || (rows.isOnce && width.total <= most);
    return isWide ? elsewhere : fits ? atOnce : rowByRow;
  }

  widestRow(table: TableInfo): number {
    return this.#widths.get(table)?.bytes ?? Infinity;
  }

  totalBytes(table: TableInfo): number {
    return this.#widths.get(table)?.total ?? Infinity;
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
    const statement = widestRowStatement(table, columns);
    const bytes = measure(statement);
    if (bytes !== null) return measured(bytes);
    width.bytes = Infinity;
    width.total = databaseBytes();
    width.freshUntil = now + freshForMs;
    // If the whole database has at most `most` bytes, the widest row need not be measured.
    if (width.total <= most) return;
    width.total = Infinity;
    // The width counts as unlimited until it is measured, or for ten minutes if measuring fails.
    width.freshUntil = now + 10 * freshForMs;
    measureElsewhere(statement).then(measured, () => {});
  }
}

interface RowsOfPlan {
  readonly table: TableInfo;
  readonly most: number;
  readonly isOnce: boolean;
}

function rowsOf(plan: Plan): RowsOfPlan | null {
  switch (plan.kind) {
    case "read":
      return plan.limit === null ? null : { table: plan.table, most: plan.limit, isOnce: true };
    case "related":
      return { table: plan.relation.target, most: plan.most, isOnce: false };
    case "aggregate":
      // A group counts as three rows: it can contain a column's value as key, minimum and maximum.
      return { table: plan.table, most: 3 * plan.limit, isOnce: false };
    case "count":
    case "estimate":
      return { table: plan.table, most: 0, isOnce: true };
    default:
      return null;
  }
}
