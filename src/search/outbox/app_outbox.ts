import type { KeyValue } from "../../kv/key_value.ts";
import { deadline, type Runtime } from "../../runtime/runtime.ts";
import type { Indexer } from "../indexer.ts";
import type { OutboxIndex, OutboxParts } from "./drain_entries.ts";
import { OutboxSweep } from "./outbox_sweep.ts";
import { OutboxStore } from "./outbox_store.ts";
import { KvSearchOutbox, type SearchOutbox } from "./search_outbox.ts";
import type { ResolvedSearchOutboxOptions } from "./search_outbox_options.ts";
import { bytesToHex } from "../../protocol/byte_text.ts";

export class AppOutbox {
  readonly #indexes = new Map<string, OutboxIndex>();
  readonly #options: ResolvedSearchOutboxOptions;
  readonly #parts: OutboxParts;
  readonly #outbox: KvSearchOutbox;
  #timer: OutboxTimer | null = null;

  /** Needs the configured store: a store in memory would lose entries when the process ends. */
  constructor(store: KeyValue, options: ResolvedSearchOutboxOptions, runtime: Runtime) {
    this.#options = options;
    this.#parts = { records: new OutboxStore(store, runtime), indexes: this.#indexes, runtime };
    this.#outbox = new KvSearchOutbox({ ...this.#parts, defaults: options });
  }

  get outbox(): SearchOutbox | null {
    return this.#indexes.size === 0 ? null : this.#outbox;
  }

  add(index: OutboxIndex): Indexer {
    const { name } = index.open.index;
    if (this.#indexes.has(name)) {
      throw new Error(
        `Cannot serve "${index.open.index.table.name}" with search.outbox: the search index of ` +
          `another database is called "${name}" as well: set search.indexName of one of them`,
      );
    }
    this.#indexes.set(name, index);
    return this.#outbox.indexer(name);
  }

  start(): void {
    if (this.#indexes.size === 0) return;
    const { intervalMs, sweepIntervalMs } = this.#options;
    const sweep = new OutboxSweep(this.#parts, sweepIntervalMs);
    this.#timer = new OutboxTimer({ ...this.#parts, outbox: this.#outbox, sweep, intervalMs });
  }

  /** Indexes the due entries of the outbox once, unless another process does so. Never rejects. */
  async tick(): Promise<void> {
    await this.#timer?.tick();
  }

  async close(): Promise<void> {
    await this.#timer?.stop();
  }
}

interface OutboxTimerDependencies extends Pick<OutboxParts, "records" | "runtime"> {
  readonly outbox: Pick<KvSearchOutbox, "drain">;
  readonly sweep: OutboxSweep;
  readonly intervalMs: number;
}

/** Indexes due outbox entries at intervals and by cron, while this process holds the lease. */
class OutboxTimer {
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

  tick(): Promise<void> {
    return this.#running ??= this.#drain().finally(() => this.#running = null);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    this.#stopCron();
    const { records, sweep, runtime } = this.#parts;
    const stopped = Promise.all([this.#running, sweep.stop()]);
    try {
      // If the run does not end in time, other processes take its entries when the leases end.
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
