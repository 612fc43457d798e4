import type { FileHandle } from "node:fs/promises";
import { databaseDefault } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import { parseShallowJson, writeJson } from "../../schema/exact_json.ts";
import { isPlainJson } from "../../schema/plain_json.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { PreparedRow } from "./prepared_row.ts";
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
    const blocks = textBlocks(this.#file.read(), {
      quotes: false,
      maxRecordBytes: Infinity,
      isPlain: (bytes) => isPlainJson(bytes, noLimits),
    });
    const shapes = new Map<string, readonly ColumnInfo[]>();
    for await (const { text, isPlain } of blocks) {
      const parse = isPlain ? JSON.parse : parseShallowJson;
      const lines = text.split("\n").filter((line) => line !== "");
      yield lines.map((line) => this.#rowOf(parse(line), shapes));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close();
  }

  #textOf(rows: readonly PreparedRow[]): string {
    const { columns } = this.#table;
    let text = "";
    for (const { line, values } of rows) {
      const shape: number[] = [];
      const cells: unknown[] = [];
      for (const [index, column] of columns.entries()) {
        const value = values.get(column);
        if (value === undefined || value === databaseDefault) continue;
        shape.push(index);
        cells.push(value);
      }
      text += `${writeJson([line, shape.join(), ...cells])}\n`;
    }
    return text;
  }

  #rowOf(written: unknown, shapes: Map<string, readonly ColumnInfo[]>): PreparedRow {
    // `#textOf` has written it.
    const [line, shape, ...cells] = written as [number, string, ...unknown[]];
    let columns = shapes.get(shape);
    if (columns === undefined) {
      const named = shape === "" ? [] : shape.split(",");
      columns = named.flatMap((index) => this.#table.columns[Number(index)] ?? []);
      // A client may send other fields in each row.
      if (shapes.size < maxShapes) shapes.set(shape, columns);
    }
    return { line, values: new Map(columns.map((column, index) => [column, cells[index]])) };
  }
}

const maxShapes = 100;

const noLimits = { levels: Infinity, names: Infinity };

class SpoolFile {
  readonly #file: FileHandle;
  /** Null where it is removed already. */
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
    for (let at = 0;;) {
      const { bytesRead, buffer } = await this.#file.read(
        new Uint8Array(readBytes),
        0,
        readBytes,
        at,
      );
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
