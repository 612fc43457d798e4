import process from "node:process";
import type { Clock } from "../../runtime/runtime.ts";
import type { ImportOutcome } from "../../resource/import/line_errors.ts";

/** The interval between two progress lines, in milliseconds. */
const everyMs = 1_000;

/** Prints the number of imported rows and their rate to the standard error. */
export class ImportProgress {
  readonly #isTerminal = process.stderr.isTTY === true;
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #beganAt: number;
  #shownAt: number;
  #isOpen = false;

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
    this.#beganAt = this.#shownAt = clock.elapsedMs();
  }

  /** Prints the counts at intervals. On a terminal, the new counts replace the old ones. */
  show({ rows }: ImportOutcome): void {
    const now = this.#clock.elapsedMs();
    if (now - this.#shownAt < everyMs) return;
    this.#shownAt = now;
    const line = `${rows} rows, ${this.#perSecond(rows)} rows/s`;
    this.#isOpen = this.#isTerminal;
    process.stderr.write(this.#isTerminal ? `\r${line}` : `${line}\n`);
  }

  /** Ends an unfinished line. */
  end(): void {
    if (this.#isOpen) process.stderr.write("\n");
    this.#isOpen = false;
  }

  /** Returns the last line, which summarizes the import. */
  done({ rows, written }: ImportOutcome, dryRun: boolean): string {
    const seconds = ((this.#clock.elapsedMs() - this.#beganAt) / 1_000).toFixed(1);
    const done = dryRun
      ? `${rows} rows can be written, and none was`
      : `${written} of ${rows} rows written`;
    return `${done} in ${seconds} s, ${this.#perSecond(rows)} rows/s`;
  }

  #perSecond(rows: number): number {
    return Math.round(rows / Math.max(1, this.#clock.elapsedMs() - this.#beganAt) * 1_000);
  }
}
