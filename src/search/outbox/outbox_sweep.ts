import type { OutboxParts } from "./drain_entries.ts";

/** Indexes all rows again at long intervals, to repair changes without an entry in the outbox. */
export class OutboxSweep {
  readonly #parts: OutboxParts;
  readonly #intervalMs: number | false;
  readonly #stopped = new AbortController();
  #running: Promise<void> | null = null;

  constructor(parts: OutboxParts, intervalMs: number | false) {
    this.#parts = parts;
    this.#intervalMs = intervalMs;
  }

  async beginIfDue(): Promise<void> {
    const intervalMs = this.#intervalMs;
    if (intervalMs === false || this.#running !== null || this.#stopped.signal.aborted) return;
    if (!await this.#parts.records.takeSweep(intervalMs)) return;
    this.#running = this.#sweep(intervalMs).finally(() => this.#running = null);
  }

  /** Stops the running sweep after its current page. The next sweep is due in some minutes. */
  async stop(): Promise<void> {
    this.#stopped.abort(new Error("The search outbox is closed"));
    await this.#running;
  }

  async #sweep(intervalMs: number): Promise<void> {
    const { records, indexes, runtime } = this.#parts;
    const { signal } = this.#stopped;
    try {
      for (const { open, isSwept } of indexes.values()) {
        if (!isSwept) continue;
        signal.throwIfAborted();
        await open.refill({ signal });
      }
    } catch (error) {
      if (!signal.aborted) runtime.observe({ kind: "search_outbox_failed", error });
      // If the store fails here too, the next sweep starts after the usual interval.
      await records.repeatSweep(intervalMs).catch((error) =>
        runtime.observe({ kind: "search_outbox_failed", error })
      );
    }
  }
}
