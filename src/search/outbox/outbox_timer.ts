import { bytesToHex } from "../../protocol/byte_text.ts";
import { deadline } from "../../runtime/deadline.ts";
import type { OutboxParts } from "./drain_entries.ts";
import type { OutboxSweep } from "./outbox_sweep.ts";
import type { KvSearchOutbox } from "./search_outbox.ts";

export interface OutboxTimerDependencies extends Pick<OutboxParts, "records" | "runtime"> {
  readonly outbox: Pick<KvSearchOutbox, "drain">;
  readonly sweep: OutboxSweep;
  readonly intervalMs: number;
}

/**
 * Runs the outbox at intervals, and by the platform's cron if it has one. Only one of the processes
 * that share a store does this: the one with the lease.
 */
export class OutboxTimer {
  readonly #parts: OutboxTimerDependencies;
  readonly #owner: string;
  readonly #stopCron: () => void;
  #cancel: () => void = () => {};
  #running: Promise<void> | null = null;
  #isStopped = false;

  constructor(parts: OutboxTimerDependencies) {
    this.#parts = parts;
    this.#owner = bytesToHex(parts.runtime.random.bytes(16));
    this.#stopCron = this.#startCron();
    this.#wait();
  }

  /** Runs the outbox once, or waits for the current run. Never rejects. */
  tick(): Promise<void> {
    return this.#running ??= this.#drain().finally(() => this.#running = null);
  }

  /** Waits a short time for the current run, and ends the lease. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    this.#stopCron();
    const { records, sweep, runtime } = this.#parts;
    const stopped = Promise.all([this.#running, sweep.stop()]);
    try {
      // Entries of an unfinished run are due again at the end of their leases.
      const late = () => new Error("the search engine did not answer in time");
      await deadline(maxStopMs, runtime.clock, late).within(stopped);
      await records.releaseDrainerLease(this.#owner);
    } catch (error) {
      runtime.observe({ kind: "search_outbox_failed", error });
    }
  }

  #startCron(): () => void {
    const { cron, observe } = this.#parts.runtime;
    try {
      return cron?.(cronName, "* * * * *", () => this.tick()) ?? (() => {});
    } catch (error) {
      // Another app in this process has registered the cron. This app uses only its own interval.
      const reason = error instanceof Error ? error.message : String(error);
      observe({ kind: "notice", message: `the search outbox has no cron: ${reason}` });
      return () => {};
    }
  }

  #wait(): void {
    const { runtime, intervalMs } = this.#parts;
    this.#cancel = runtime.clock.after(intervalMs, async () => {
      await this.tick();
      if (!this.#isStopped) this.#wait();
    });
  }

  async #drain(): Promise<void> {
    const { records, outbox, sweep, runtime, intervalMs } = this.#parts;
    try {
      if (!await records.takeDrainerLease(this.#owner, 5 * intervalMs + minLeaseMs)) return;
      await outbox.drain();
      await sweep.beginIfDue();
    } catch (error) {
      runtime.observe({ kind: "search_outbox_failed", error });
    }
  }
}

const minLeaseMs = 10_000;

const maxStopMs = 3_000;

const cronName = "search outbox";
