import type { YieldTurn } from "../../runtime/event_loop.ts";
import type { WriteCall } from "../model/operation.ts";
import { type ImportRecord, type ImportRecords, UnreadableLine } from "./import_record.ts";
import type { LineError } from "./line_errors.ts";
import { type PreparedRow, prepareRow } from "./prepared_row.ts";
import { RowShaper } from "./shaped_row.ts";

/** Prepared rows that follow one another in the body of an import. */
export interface RowChunk {
  readonly rows: readonly PreparedRow[];
  /** The number of records, including rejected ones. */
  readonly count: number;
  /** The approximate size of the records, in bytes. */
  readonly size: number;
  readonly from: number;
  /** The last line, or null if the rest of the body cannot be read. */
  readonly to: number | null;
  readonly errors: readonly LineError[];
}

export interface RowChunksOptions {
  readonly write: WriteCall;
  readonly maxRows: number;
  readonly giveTurn: YieldTurn;
}

/** The size at which a chunk ends early, in bytes. */
const maxChunkBytes = 4 * 1024 * 1024;

const recordsPerTurn = 256;

/** Prepares the rows of a body in chunks. The error of an unreadable line is in the last chunk. */
export async function* rowChunks(
  records: ImportRecords,
  { write, maxRows, giveTurn }: RowChunksOptions,
): AsyncGenerator<RowChunk, void> {
  const options = { write, shaper: new RowShaper() };
  let open = new OpenChunk();
  let next = 1;
  try {
    for await (const some of records) {
      for (const [index, record] of some.entries()) {
        // A block may have tens of thousands of lines, so the loop regularly lets other work run.
        if (index % recordsPerTurn === 0) await giveTurn();
        const prepared = prepareRow(record, options);
        open.add(record, prepared instanceof Promise ? await prepared : prepared);
        next = record.line + 1;
        if (open.count < maxRows && open.size < maxChunkBytes) continue;
        yield open.end();
        open = new OpenChunk();
      }
      await giveTurn();
    }
  } catch (error) {
    if (!(error instanceof UnreadableLine)) throw error;
    yield open.endUnreadable(error, next);
    return;
  }
  if (open.count > 0) yield open.end();
}

class OpenChunk {
  count = 0;
  size = 0;
  readonly #rows: PreparedRow[] = [];
  readonly #errors: LineError[] = [];
  #from: number | null = null;
  #to = 0;

  add({ line, size }: ImportRecord, prepared: ReturnType<typeof prepareRow> & object): void {
    this.count++;
    this.size += size;
    this.#from ??= line;
    this.#to = line;
    if ("values" in prepared) this.#rows.push(prepared);
    else if ("errors" in prepared) this.#errors.push(...prepared.errors);
  }

  end(): RowChunk {
    return this.#ended(this.#to);
  }

  /** Adds the error of an unreadable line. Earlier records of its block were not read, either. */
  endUnreadable({ line, path, message, option }: UnreadableLine, next: number): RowChunk {
    this.#from ??= next;
    this.#errors.push({ line, path, message, option });
    return this.#ended(null);
  }

  #ended(to: number | null): RowChunk {
    const { count, size } = this;
    return { rows: this.#rows, count, size, from: this.#from ?? 0, to, errors: this.#errors };
  }
}
