import type { FileHandle } from "node:fs/promises";
import { Problem } from "../../problem/problem.ts";
import { parseCheckedJson, writeJson } from "../../schema/exact_json.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { PreparedRow, RowShape, ShapedRow } from "./row_chunks.ts";
import { textBlocks, wholeLines } from "./text_blocks.ts";

/** The total size of records whose rows stay in memory, in bytes. All further rows go to a file. */
const maxBytesInMemory = 4 * 1024 * 1024;

const readBytes = 256 * 1024;

/** The rows of an import before the first write. Many rows go to an unlinked temporary file. */
export class RowSpool implements AsyncDisposable {
  readonly #table: TableInfo;
  readonly #slices: (readonly PreparedRow[])[] = [];
  #size = 0;
  #file: SpoolFile | null = null;
  #shape = new RowShape([]);

  constructor(table: TableInfo) {
    this.#table = table;
  }

  /** Adds rows. `size` is the size of their records. Throws a 413 if no file can be written. */
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

  async *slices(): AsyncGenerator<readonly PreparedRow[], void> {
    yield* this.#slices;
    if (this.#file === null) return;
    for await (const block of textBlocks(this.#file.read(), { maxRecordBytes: Infinity })) {
      for (const line of wholeLines(block)) {
        if (line !== "") yield this.#rowsOf(line);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close();
  }

  /** Writes one string for many rows, which takes a third of the time of one string per row. */
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
    return `${writeJson(runs)}\n`;
  }

  #rowsOf(text: string): readonly PreparedRow[] {
    // The cast is safe: `#textOf` has written this string.
    const runs = parseCheckedJson(text) as readonly Run[];
    return runs.flatMap(({ columns, lines, rows }) => {
      const shape = this.#shapeOf(columns);
      return rows.map((cells, at) => new PreparedRow(lines[at] ?? 0, new ShapedRow(shape, cells)));
    });
  }

  /** Reuses the last shape for equal columns, because statements are cached by its identity. */
  #shapeOf(indexes: readonly number[]): RowShape {
    const columns = indexes.flatMap((index) => this.#table.columns[index] ?? []);
    const known = this.#shape.columns;
    const isKnown = columns.length === known.length &&
      columns.every((one, at) => one === known[at]);
    return isKnown ? this.#shape : this.#shape = new RowShape(columns);
  }
}

interface Run {
  readonly columns: readonly number[];
  readonly lines: number[];
  readonly rows: (readonly unknown[])[];
}

class SpoolFile {
  readonly #file: FileHandle;
  readonly #remove: () => Promise<void>;

  private constructor(file: FileHandle, remove: () => Promise<void>) {
    this.#file = file;
    this.#remove = remove;
  }

  static async open(): Promise<SpoolFile> {
    const { mkdtemp, open, rm } = await import("node:fs/promises");
    const { tmpdir } = await import("node:os");
    const folder = await mkdtemp(`${tmpdir()}/service-import-`);
    const remove = () => rm(folder, { recursive: true, force: true });
    const file = await open(`${folder}/rows`, "wx+", 0o600);
    // Unlinks the open file, so that no file remains after a crash. On Windows, `close` unlinks it.
    await remove().catch(() => {});
    return new SpoolFile(file, remove);
  }

  async write(text: string): Promise<void> {
    await this.#file.appendFile(text);
  }

  read(): AsyncIterable<Uint8Array> {
    return this.#file.createReadStream({ autoClose: false, start: 0, highWaterMark: readBytes });
  }

  async close(): Promise<void> {
    await this.#file.close();
    await this.#remove();
  }
}
