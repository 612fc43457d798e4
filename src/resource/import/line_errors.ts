import { Problem } from "../../problem/problem.ts";
import type {
  AcceptingOption,
  ImportOutcome,
  LineError,
  LineRange,
  RecordFault,
} from "../../api/imports.ts";

/** The maximum number of errors, and of ranges of lines, in one response. */
export const maxLineErrors = 100;

/** The errors of an import by line, at most as many as one response can contain. */
export class LineErrors {
  readonly #errors: LineError[] = [];
  readonly #unwritten: { from: number; to: number | null }[] = [];

  get isEmpty(): boolean {
    return this.#errors.length === 0;
  }

  get isFull(): boolean {
    return this.#errors.length >= maxLineErrors;
  }

  /** Adds an error, unless the maximum is reached. */
  add(error: LineError): void {
    if (!this.isFull) this.#errors.push(error);
  }

  /** Adds the lines of a chunk that was not written. If `isNext`, extends the previous range. */
  addUnwritten({ from, to }: LineRange, isNext: boolean): void {
    const last = this.#unwritten.at(-1);
    if (last !== undefined && isNext) last.to = to;
    else if (this.#unwritten.length < maxLineErrors) this.#unwritten.push({ from, to });
  }

  /** Returns the 422 of an import. `counts` are the numbers of rows read and written. */
  problem(counts: ImportOutcome): Problem {
    const spell = ({ name, value }: AcceptingOption) => `${name}=${encodeURIComponent(value)}`;
    const [first] = this.#errors;
    const fault = first === undefined
      ? "rows were refused"
      : [`line ${first.line}:`, first.path, withOption(first, spell)]
        .filter((part) => part !== "").join(" ");
    return new Problem("validation-error", `Cannot import: ${fault}`, {
      details: {
        ...counts,
        errors: this.#errors,
        ...(this.#unwritten.length === 0 ? {} : { unwritten: this.#unwritten }),
      },
    });
  }
}

/** Adds the option that would accept the line to an error message. `spell` formats the option. */
export function withOption(
  { message, option }: RecordFault,
  spell: (option: AcceptingOption) => string,
): string {
  if (option === undefined) return message;
  return `${message}${message.endsWith("?") ? "" : "."} Pass ${spell(option)}`;
}
