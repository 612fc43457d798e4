import type { KeyValue } from "../../kv/key_value.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Indexer } from "../indexer.ts";
import type { OutboxIndex, OutboxParts } from "./drain_entries.ts";
import { OutboxSweep } from "./outbox_sweep.ts";
import { OutboxStore } from "./outbox_store.ts";
import { OutboxTimer } from "./outbox_timer.ts";
import { KvSearchOutbox, type SearchOutbox } from "./search_outbox.ts";
import type { ResolvedSearchOutboxOptions } from "./search_outbox_options.ts";

export interface OutboxContext {
  /** The key-value store of the configuration. In-memory stores would lose entries at the end. */
  readonly store: { readonly configured: KeyValue | null };
  readonly resolved: { readonly searchOutbox: ResolvedSearchOutboxOptions };
  readonly runtime: Runtime;
}

/** Opens the search outbox of an app; returns null without a configured key-value store. */
export function openAppOutbox({ store, resolved, runtime }: OutboxContext): AppOutbox | null {
  const { configured } = store;
  return configured === null ? null : new AppOutbox(configured, resolved.searchOutbox, runtime);
}

/** The search outbox of an app, the indexes that use it, and the timer that empties it. */
export class AppOutbox {
  readonly #indexes = new Map<string, OutboxIndex>();
  readonly #options: ResolvedSearchOutboxOptions;
  readonly #parts: OutboxParts;
  readonly #outbox: KvSearchOutbox;
  #timer: OutboxTimer | null = null;

  constructor(store: KeyValue, options: ResolvedSearchOutboxOptions, runtime: Runtime) {
    this.#options = options;
    this.#parts = { records: new OutboxStore(store, runtime), indexes: this.#indexes, runtime };
    this.#outbox = new KvSearchOutbox({ ...this.#parts, defaults: options });
  }

  /** The search outbox, or null if no index uses one. */
  get outbox(): SearchOutbox | null {
    return this.#indexes.size === 0 ? null : this.#outbox;
  }

  /**
   * Adds an index. Returns the indexer, which records writes of rows in the outbox before they
   * commit. Throws a plain Error if an index of another database has the same name.
   */
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

  /** Indexes due entries once, unless another process is doing so. Never rejects. */
  async tick(): Promise<void> {
    await this.#timer?.tick();
  }

  async close(): Promise<void> {
    await this.#timer?.stop();
  }
}
