import { Problem } from "../../problem/problem.ts";
import type {
  AcceptingOption,
  ImportOutcome,
  LineError,
  LineRange,
  RecordFault,
} from "../../api/imports.ts";

export const maxLineErrors = 100;

export class LineErrors {
  readonly #errors: LineError[] = [];
  readonly #unwritten: { from: number; to: number | null }[] = [];

  get isEmpty(): boolean {
    return this.#errors.length === 0;
  }

  get isFull(): boolean {
    return this.#errors.length >= maxLineErrors;
  }

  add(error: LineError): void {
    if (!this.isFull) this.#errors.push(error);
  }

  addUnwritten({ from, to }: LineRange, isNext: boolean): void {
    const last = this.#unwritten.at(-1);
    if (last !== undefined && isNext) last.to = to;
    else if (this.#unwritten.length < maxLineErrors) this.#unwritten.push({ from, to });
  }

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

export function withOption(
  { message, option }: RecordFault,
  spell: (option: AcceptingOption) => string,
): string {
  if (option === undefined) return message;
  return `${message}${message.endsWith("?") ? "" : "."} Pass ${spell(option)}`;
}
