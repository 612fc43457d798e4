import process from "node:process";
import type { Clock } from "../../runtime/runtime.ts";
import type { ImportOutcome } from "../../resource/import/line_errors.ts";

/** How often a line is written. */
const everyMs = 1_000;

/** Shows on the standard error how many rows an import has read, and how fast. */
export class ImportProgress {
  readonly #isTerminal = process.stderr.isTTY === true;
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #beganAt: number;
  #shownAt: number;
  #isOpen = false;

  /** Begins now. */
  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
    this.#beganAt = this.#shownAt = clock.elapsedMs();
  }

  /** Shows the counts where the last ones are a while ago: in place on a terminal, else as a line. */
  show({ rows }: ImportOutcome): void {
    const now = this.#clock.elapsedMs();
    if (now - this.#shownAt < everyMs) return;
    this.#shownAt = now;
    const line = `${rows} rows, ${this.#perSecond(rows)} rows/s`;
    this.#isOpen = this.#isTerminal;
    process.stderr.write(this.#isTerminal ? `\r${line}` : `${line}\n`);
  }

  /** Ends a line that is open. */
  end(): void {
    if (this.#isOpen) process.stderr.write("\n");
    this.#isOpen = false;
  }

  /** The last line: what became of the rows. */
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
