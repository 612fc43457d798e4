import type { Clock } from "./runtime.ts";

interface Wait {
  readonly endsAt: number;
  readonly expire: () => void;
}

/**
 * Limits concurrent promises by the same duration with one timer, because starting and ending a
 * timer for each request takes longer than reading a small body. No timer runs while no promise
 * waits.
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
        this.#end(wait);
        resolve(result);
      }, (error) => {
        this.#end(wait);
        reject(error);
      });
    });
  }

  #end(wait: Wait): void {
    this.#waits.delete(wait);
    if (this.#waits.size > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
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
