import type { Clock } from "../../../runtime/runtime.ts";

/** How much longer than the server's time limit a statement can take, in milliseconds. */
const graceMs = 5_000;

const changesLimit = /\bstatement_timeout\b/i;
const isLocal = /\bLOCAL\b|, true\)/i;
const endsTransaction = /(?:^|;)(?:COMMIT|ROLLBACK)(?:;|$)/;

/** Notices that a server is gone: it is silent for longer than the time limit of statements. */
export class SilenceWatch {
  readonly #clock: Clock;
  /** Half of the permitted silence, in milliseconds. Null if the server has no time limit. */
  #stepMs: number | null;
  readonly #lost: () => void;
  /** The scope in which a statement has set another limit: the watch is off. Null if none. */
  #unlimited: "transaction" | "session" | null = null;
  /** The number of silent periods. -1 if the current period began before the statement was sent. */
  #steps = 0;
  #isIdle = true;
  #cancel: (() => void) | null = null;

  /** With `limitMs` 0, the server ends no statement, so no silence is too long. */
  constructor(clock: Clock, limitMs: number, lost: () => void) {
    this.#clock = clock;
    this.#stepMs = limitMs === 0 ? null : (limitMs + graceMs) / 2;
    this.#lost = lost;
  }

  sends(text: string): void {
    if (this.#unlimited === null) this.#begin();
    if (changesLimit.test(text) && !text.startsWith("BEGIN")) {
      if (this.#unlimited !== "session") {
        this.#unlimited = isLocal.test(text) ? "transaction" : "session";
      }
    } else if (this.#unlimited === "transaction" && endsTransaction.test(text)) {
      this.#unlimited = null;
    }
  }

  hears(): void {
    this.#steps = Math.min(this.#steps, 0);
  }

  /** Called when no statement waits. The timer continues: a timer for each statement costs 2 µs. */
  end(): void {
    this.#isIdle = true;
  }

  /** Ends the watch. A statement that is sent to the lost connection afterwards starts no timer. */
  stop(): void {
    this.#stepMs = null;
    this.#cancel?.();
    this.#cancel = null;
  }

  #begin(): void {
    if (!this.#isIdle || this.#stepMs === null) return;
    this.#isIdle = false;
    this.#steps = this.#cancel === null ? 0 : -1;
    if (this.#cancel === null) this.#wait(this.#stepMs);
  }

  /** Waits for two periods, so that a process that was suspended can read late responses first. */
  #wait(stepMs: number): void {
    this.#cancel = this.#clock.after(stepMs, () => {
      this.#cancel = null;
      this.#isIdle ||= this.#unlimited !== null;
      if (this.#isIdle) return;
      if (++this.#steps === 2) return this.#lost();
      this.#wait(stepMs);
    });
  }
}
