import type { FileHandle } from "node:fs/promises";
import { Problem } from "../../problem/problem.ts";
import { parseShallowJson, writeJson } from "../../schema/exact_json.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { PreparedRow } from "./prepared_row.ts";
import { RowShape, ShapedRow } from "./shaped_row.ts";
import { textBlocks } from "./text_blocks.ts";

/** What rows may have in memory, by the bytes of their records, before they go to a file. */
const maxBytesInMemory = 4 * 1024 * 1024;

const readBytes = 256 * 1024;

/**
 * The prepared rows of an import before the first is written: a few in memory, many in a temporary
 * file, which has no name any more as soon as it is open.
 */
export class RowSpool implements AsyncDisposable {
  readonly #table: TableInfo;
  readonly #slices: (readonly PreparedRow[])[] = [];
  #size = 0;
  #file: SpoolFile | null = null;
  #shape = new RowShape([]);

  /** Empty. */
  constructor(table: TableInfo) {
    this.#table = table;
  }

  /** Adds rows, whose records had so many bytes. Throws a 413 where no file can be written. */
  async add(rows: readonly PreparedRow[], size: number): Promise<void> {
    this.#size += size;
    if (this.#file === null && this.#size <= maxBytesInMemory) {
      this.#slices.push(rows);
      return;
    }
    try {
      if (this.#file === null) {
        this.#file = await SpoolFile.open();
        for (const slice of this.#slices.splice(0)) await this.#file.write(this.#textOf(slice));
      }
      await this.#file.write(this.#textOf(rows));
    } catch (cause) {
      throw new Problem(
        "payload-too-large",
        `Cannot import more than ${maxBytesInMemory} bytes at once: the service has no temporary ` +
          "file for them; import by mode=chunks",
        { cause, details: { limit: maxBytesInMemory } },
      );
    }
  }

  /** The rows, in their order, as often as they are wanted. */
  async *slices(): AsyncGenerator<readonly PreparedRow[], void> {
    yield* this.#slices;
    if (this.#file === null) return;
    const blocks = textBlocks(this.#file.read(), { quotes: false, maxRecordBytes: Infinity });
    for await (const { text } of blocks) {
      for (const line of text.split("\n")) {
        if (line !== "") yield this.#rowsOf(line);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close();
  }

  /** One string for many rows, which takes a third of the time of a string for each. */
  #textOf(rows: readonly PreparedRow[]): string {
    const runs: Run[] = [];
    let last: RowShape | null = null;
    for (const { line, values: { shape, cells } } of rows) {
      if (shape !== last) {
        last = shape;
        const columns = shape.columns.map((column) => this.#table.columns.indexOf(column));
        runs.push({ columns, lines: [], rows: [] });
      }
      const run = runs.at(-1);
      run?.lines.push(line);
      run?.rows.push(cells);
    }
    const mark = runs.some((run) => run.rows.some((cells) => cells.some(isInexact)))
      ? exactMark
      : "";
    return `${mark}${writeJson(runs)}\n`;
  }

  #rowsOf(text: string): readonly PreparedRow[] {
    // `#textOf` has written it.
    const runs =
      (text.startsWith(exactMark)
        ? parseShallowJson(text.slice(exactMark.length))
        : JSON.parse(text)) as readonly Run[];
    return runs.flatMap(({ columns, lines, rows }) => {
      const shape = this.#shapeOf(columns);
      return rows.map((cells, at) => new PreparedRow(lines[at] ?? 0, new ShapedRow(shape, cells)));
    });
  }

  /** The same as before wherever it has the same columns: the compiler knows them again. */
  #shapeOf(indexes: readonly number[]): RowShape {
    const columns = indexes.flatMap((index) => this.#table.columns[index] ?? []);
    const known = this.#shape.columns;
    const isKnown = columns.length === known.length &&
      columns.every((one, at) => one === known[at]);
    return isKnown ? this.#shape : this.#shape = new RowShape(columns);
  }
}

/** Returns true if `JSON.parse` may read a value wrongly that `JSON.stringify` has written. */
function isInexact(value: unknown): boolean {
  return typeof value === "bigint" || typeof value === "object" && value !== null;
}

/** Rows after each other with the same columns. */
interface Run {
  /** Their places in the table. */
  readonly columns: readonly number[];
  readonly lines: number[];
  readonly rows: (readonly unknown[])[];
}

/** Before a string that has to be read exactly. */
const exactMark = "!";

class SpoolFile {
  readonly #file: FileHandle;
  /** Null if it is removed already. */
  readonly #removeAtEnd: (() => Promise<void>) | null;

  private constructor(file: FileHandle, removeAtEnd: (() => Promise<void>) | null) {
    this.#file = file;
    this.#removeAtEnd = removeAtEnd;
  }

  /** Only the user of the process may read it. */
  static async open(): Promise<SpoolFile> {
    const { mkdtemp, open, rm } = await import("node:fs/promises");
    const { tmpdir } = await import("node:os");
    const folder = await mkdtemp(`${tmpdir()}/service-import-`);
    const remove = () => rm(folder, { recursive: true, force: true });
    const file = await open(`${folder}/rows`, "wx+", 0o600);
    try {
      // Nothing is left of it where the process is killed.
      await remove();
      return new SpoolFile(file, null);
    } catch (error) {
      // Windows keeps a file that is open.
      if (!(error instanceof Error && "code" in error)) throw error;
      return new SpoolFile(file, remove);
    }
  }

  async write(text: string): Promise<void> {
    await this.#file.appendFile(text);
  }

  async *read(): AsyncGenerator<Uint8Array, void> {
    // Used again for each part, of which `textBlocks` keeps a copy.
    const buffer = new Uint8Array(readBytes);
    for (let at = 0;;) {
      const { bytesRead } = await this.#file.read(buffer, 0, readBytes, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
    await this.#removeAtEnd?.();
  }
}
