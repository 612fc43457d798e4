import type { Clock } from "../../../runtime/runtime.ts";
import type { Statement } from "../../../sql/fragment.ts";
import { DatabaseError } from "../../database_error.ts";
import type { QueryResult, ReadLimits } from "../../driver.ts";
import { type BytesLeft, unlimitedBytes } from "../row_cells.ts";
import type { ReaderThreads } from "./reader_threads.ts";
import { RowWidths } from "./row_widths.ts";
import { ShortScans } from "./short_scans.ts";
import type { SqliteConnection } from "../sqlite_connection.ts";
import { fixedLimit, InlineTime } from "./statement_deadline.ts";

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
    const { atOnce, isElsewhere } = this.#widths.strategyFor(statement, bytes.left);
    if (isElsewhere) return this.#readElsewhere(statement, limits, bytes);
    const before = bytes.left;
    const isShort = atOnce && this.#shortScans.includes(statement);
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

function numberOf({ rows }: QueryResult): number {
  return Number(rows[0]?.[0] ?? 0);
}

const databaseSize: Statement = {
  text: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
  values: [],
};

const maxInlineMeasureMs = 10;
const maxMeasureMs = 5_000;
