import type { YieldTurn } from "../../runtime/runtime.ts";
import type { WriteCall } from "../model/operation.ts";
import { type ImportRecord, type ImportRecords, UnreadableLine } from "./import_record.ts";
import { ignoreExtraOption } from "./file_records.ts";
import type { LineError } from "../../api/imports.ts";
import { Problem } from "../../problem/problem.ts";
import type { Assignments, InsertValues } from "../../plan/plan.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { completeNewRow, newRowValues } from "../write/values/new_row_values.ts";
import { InvalidFields, parseColumns } from "../write/values/parse_fields.ts";
import { beforeCreate } from "../write/run_hooks.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";

/** A class: with object literals, which V8 moves to its old generation, imports took longer. */
export class PreparedRow {
  readonly line: number;
  readonly values: ShapedRow;

  constructor(line: number, values: ShapedRow) {
    this.line = line;
    this.values = values;
  }
}

interface PrepareOptions {
  readonly write: WriteCall;
  readonly shaper: RowShaper;
}

interface RefusedRecord {
  readonly errors: readonly LineError[];
}

/** Prepares a row as for a POST. If the hook throws another error than a 4xx, the import ends. */
export function prepareRow(
  { line, body, fault }: ImportRecord,
  options: PrepareOptions,
): MaybePromise<PreparedRow | RefusedRecord> {
  if (fault !== null) return { errors: [{ line, ...fault }] };
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return { errors: [{ line, path: "", message: "must be an object" }] };
  }
  const { write: { resource, grant }, shaper } = options;
  try {
    const given = parseColumns(body, resource);
    if (resource.hooks.onBeforeCreate === undefined) {
      return new PreparedRow(line, shaper.shaped(completeNewRow(given, grant, resource)));
    }
    return hookedRow(given, line, options);
  } catch (error) {
    const errors = errorsOfLine(error, line);
    // Offers to ignore extra fields, unless a message suggests the right name of a misspelt field.
    const areExtra = errors.every(({ message }) => message === "is not a field");
    return {
      errors: areExtra ? errors.map((one) => ({ ...one, option: ignoreExtraOption })) : errors,
    };
  }
}

async function hookedRow(
  given: Assignments,
  line: number,
  { write, shaper }: PrepareOptions,
): Promise<PreparedRow | RefusedRecord> {
  try {
    const hooked = await beforeCreate(given, write);
    const values = newRowValues(hooked, write.grant, write.resource);
    return new PreparedRow(line, shaper.shaped(values));
  } catch (error) {
    return { errors: errorsOfLine(error, line) };
  }
}

export function errorsOfLine(error: unknown, line: number): readonly LineError[] {
  if (error instanceof InvalidFields) {
    return error.errors.map(({ path, message }) => ({ line, path, message }));
  }
  if (!(error instanceof Problem) || error.status >= 500) throw error;
  const named = error.details?.["errors"];
  if (Array.isArray(named) && named.length > 0) {
    // A hook may have created these errors, so their members can be missing or have any type.
    return named.map(({ path, message }) => ({
      line,
      path: String(path ?? ""),
      message: String(message ?? error.message),
    }));
  }
  return [{ line, path: "", message: error.message }];
}

export interface RowChunk {
  readonly rows: readonly PreparedRow[];
  /** The number of records, including rejected ones. */
  readonly count: number;
  readonly size: number;
  readonly from: number;
  /** The last line, or null if the rest of the body cannot be read. */
  readonly to: number | null;
  readonly errors: readonly LineError[];
}

const maxChunkBytes = 4 * 1024 * 1024;

const recordsPerTurn = 256;

/** Yields the rows in chunks. The last chunk contains the error of an unreadable line. */
export async function* rowChunks(
  records: ImportRecords,
  { write, maxRows, giveTurn }: {
    readonly write: WriteCall;
    readonly maxRows: number;
    readonly giveTurn: YieldTurn;
  },
): AsyncGenerator<RowChunk, void> {
  const options = { write, shaper: new RowShaper() };
  let open = new OpenChunk();
  let next = 1;
  try {
    for await (const some of records) {
      for (const [index, record] of some.entries()) {
        // A group may have tens of thousands of records, so the loop regularly lets other work run.
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

  /** Ends the chunk with the error of an unreadable line. Line `next` is the first unread line. */
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

export class RowShape {
  readonly columns: readonly ColumnInfo[];
  readonly places: ReadonlyMap<ColumnInfo, number>;

  constructor(columns: readonly ColumnInfo[]) {
    this.columns = columns;
    this.places = new Map(columns.map((column, place) => [column, place]));
  }

  holds(row: Assignments): boolean {
    if (row.size !== this.columns.length) return false;
    let place = 0;
    for (const column of row.keys()) {
      if (column !== this.columns[place++]) return false;
    }
    return true;
  }
}

/** A row's values. Many rows share the list of columns: one map per row would need more memory. */
export class ShapedRow implements InsertValues {
  readonly shape: RowShape;
  readonly cells: readonly unknown[];

  /** There must be one value for each column of the shape. */
  constructor(shape: RowShape, cells: readonly unknown[]) {
    this.shape = shape;
    this.cells = cells;
  }

  has(column: ColumnInfo): boolean {
    return this.shape.places.has(column);
  }

  get(column: ColumnInfo): unknown {
    const place = this.shape.places.get(column);
    return place === undefined ? undefined : this.cells[place];
  }

  toMap(): Map<ColumnInfo, unknown> {
    return new Map(this.shape.columns.map((column, place) => [column, this.cells[place]]));
  }
}

/** Finds the list of columns (the shape) of each row. Adjacent rows usually share one list. */
export class RowShaper {
  #last = new RowShape([]);

  shaped(values: Assignments): ShapedRow {
    if (!this.#last.holds(values)) this.#last = new RowShape([...values.keys()]);
    return new ShapedRow(this.#last, [...values.values()]);
  }
}
