import type { Runtime } from "../../runtime/runtime.ts";
import type { OutboxIndex } from "./drain_entries.ts";
import type { OutboxStore } from "./outbox_store.ts";

/** What {@link OutboxSweep} works with. */
export interface OutboxSweepParts {
  readonly records: Pick<OutboxStore, "takeSweep" | "repeatSweep">;
  readonly indexes: ReadonlyMap<string, OutboxIndex>;
  readonly runtime: Pick<Runtime, "clock" | "observe">;
  /** How often; false for never. */
  readonly intervalMs: number | false;
}

/**
 * Indexes all rows again once in a while, and removes the documents of rows that are gone: repairs
 * what no entry says, as what was written past the service, or while the store was down in a process
 * that ended.
 */
export class OutboxSweep {
  readonly #parts: OutboxSweepParts;
  readonly #stopped = new AbortController();
  #running: Promise<void> | null = null;

  /** Does nothing yet. */
  constructor(parts: OutboxSweepParts) {
    this.#parts = parts;
  }

  /** Begins a sweep if it is due, of all processes in one. Rejects where the store does not answer. */
  async beginIfDue(): Promise<void> {
    const { records, intervalMs } = this.#parts;
    if (intervalMs === false || this.#running !== null || this.#stopped.signal.aborted) return;
    if (!await records.takeSweep(intervalMs)) return;
    this.#running = this.#sweep(intervalMs).finally(() => this.#running = null);
  }

  /** Ends the sweep that is running between two pages; the next one is due in some minutes. */
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
      // The store may be what failed: then the next sweep is due as usual.
      await records.repeatSweep(intervalMs).catch((error) =>
        runtime.observe({ kind: "search_outbox_failed", error })
      );
    }
  }
}
