import type { Runtime } from "../../runtime/runtime.ts";
import type { OutboxIndex } from "./drain_entries.ts";
import type { OutboxStore } from "./outbox_store.ts";

/** The dependencies and settings of {@link OutboxSweep}. */
export interface OutboxSweepDependencies {
  readonly records: Pick<OutboxStore, "takeSweep" | "repeatSweep">;
  readonly indexes: ReadonlyMap<string, OutboxIndex>;
  readonly runtime: Pick<Runtime, "clock" | "observe">;
  /** Interval between sweeps in milliseconds, or false for no sweeps. */
  readonly intervalMs: number | false;
}

/**
 * Indexes all rows again periodically, and removes the documents of missing rows. A sweep also
 * indexes changes that have no outbox entry: writes that bypassed the service, and writes of a
 * terminated process while the store was down.
 */
export class OutboxSweep {
  readonly #parts: OutboxSweepDependencies;
  readonly #stopped = new AbortController();
  #running: Promise<void> | null = null;

  constructor(parts: OutboxSweepDependencies) {
    this.#parts = parts;
  }

  /** Starts a sweep if it is due, in only one process. Rejects if the store does not respond. */
  async beginIfDue(): Promise<void> {
    const { records, intervalMs } = this.#parts;
    if (intervalMs === false || this.#running !== null || this.#stopped.signal.aborted) return;
    if (!await records.takeSweep(intervalMs)) return;
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
      // If the store has failed too, the next sweep comes at the usual time.
      await records.repeatSweep(intervalMs).catch((error) =>
        runtime.observe({ kind: "search_outbox_failed", error })
      );
    }
  }
}
