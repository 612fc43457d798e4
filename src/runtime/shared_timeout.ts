import type { Clock } from "./runtime.ts";

interface Wait {
  readonly endsAt: number;
  readonly expire: () => void;
}

/**
 * Limits many promises by the same duration with one timer. Starting and ending a timer for each
 * request takes longer than reading a small body. The timer runs until no promise is left when it
 * fires, so {@link SharedTimeout.close} must end it.
 */
export class SharedTimeout {
  readonly #clock: Pick<Clock, "elapsedMs" | "after">;
  readonly #limitMs: number;
  /** The waits in the order in which they end. */
  readonly #waits = new Set<Wait>();
  #cancelTimer: (() => void) | null = null;

  constructor(clock: Pick<Clock, "elapsedMs" | "after">, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /** Returns the result of `work`. Rejects with the error of `late` after the duration. */
  within<Result>(work: Promise<Result>, late: () => Error): Promise<Result> {
    return new Promise((resolve, reject) => {
      const endsAt = this.#clock.elapsedMs() + this.#limitMs;
      const wait: Wait = { endsAt, expire: () => reject(late()) };
      this.#waits.add(wait);
      this.#cancelTimer ??= this.#expireAfter(this.#limitMs);
      work.then((result) => {
        this.#waits.delete(wait);
        resolve(result);
      }, (error) => {
        this.#waits.delete(wait);
        reject(error);
      });
    });
  }

  /** Ends the timer. Promises that still wait are no longer limited. */
  close(): void {
    this.#cancelTimer?.();
    this.#waits.clear();
  }

  #expireAfter(delayMs: number): () => void {
    return this.#clock.after(delayMs, () => {
      this.#cancelTimer = null;
      const now = this.#clock.elapsedMs();
      for (const wait of this.#waits) {
        if (wait.endsAt > now) {
          this.#cancelTimer = this.#expireAfter(wait.endsAt - now);
          return;
        }
        this.#waits.delete(wait);
        wait.expire();
      }
    });
  }
}
