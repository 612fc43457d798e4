import { Problem } from "../../problem/problem.ts";

/** What is wrong with a row of an import: its line in the body, the field, and a message. */
export interface LineError {
  /** Where the row begins, counted from 1; a CSV begins with the line of its names. */
  readonly line: number;
  /** The field, or a path into it; empty for the row as a whole. */
  readonly path: string;
  readonly message: string;
}

/** How many rows an import has read, and how many of them are stored now. */
export interface ImportOutcome {
  /** Of the body, as far as it was read. */
  readonly rows: number;
  /** None before the end of an import of all rows. */
  readonly written: number;
}

/** Lines of an import, the last one included. */
export interface LineRange {
  readonly from: number;
  /** Null for the end of the body. */
  readonly to: number | null;
}

/** A refusal names so many errors, and so many ranges of lines. */
export const maxLineErrors = 100;

/** The errors of an import by their lines, as many as an answer names. */
export class LineErrors {
  readonly #errors: LineError[] = [];
  readonly #unwritten: { from: number; to: number | null }[] = [];

  /** True if it names one. */
  get isEmpty(): boolean {
    return this.#errors.length === 0;
  }

  /** True if it names as many as an answer does. */
  get isFull(): boolean {
    return this.#errors.length >= maxLineErrors;
  }

  /** Adds an error, unless there are enough. */
  add(error: LineError): void {
    if (!this.isFull) this.#errors.push(error);
  }

  /** Adds the lines of a chunk that was not written; chunks that follow each other are one range. */
  addUnwritten({ from, to }: LineRange, isNext: boolean): void {
    const last = this.#unwritten.at(-1);
    if (last !== undefined && isNext) last.to = to;
    else if (this.#unwritten.length < maxLineErrors) this.#unwritten.push({ from, to });
  }

  /** The 422 of an import that has read and written so many rows. */
  problem(counts: ImportOutcome): Problem {
    const [first] = this.#errors;
    const fault = first === undefined
      ? "rows were refused"
      : [`line ${first.line}:`, first.path, first.message].filter((part) => part !== "").join(" ");
    return new Problem("validation-error", `Cannot import: ${fault}`, {
      details: {
        ...counts,
        errors: this.#errors,
        ...(this.#unwritten.length === 0 ? {} : { unwritten: this.#unwritten }),
      },
    });
  }
}
