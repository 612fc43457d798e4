import type { KeyValue } from "../../kv/key_value.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Indexer } from "../indexer.ts";
import type { OutboxIndex } from "./drain_entries.ts";
import { OutboxStore } from "./outbox_store.ts";
import { OutboxTimer } from "./outbox_timer.ts";
import { KvSearchOutbox, type SearchOutbox } from "./search_outbox.ts";
import type { ResolvedSearchOutboxOptions } from "./search_outbox_options.ts";

/** What the outbox of an app works with. */
export interface AppOutboxParts {
  readonly store: KeyValue;
  readonly options: ResolvedSearchOutboxOptions;
  readonly runtime: Runtime;
}

/** The search outbox of an app, for those of its indexes that ask for it, and what drains it. */
export class AppOutbox {
  readonly #indexes = new Map<string, OutboxIndex>();
  readonly #parts: AppOutboxParts;
  readonly #records: OutboxStore;
  readonly #outbox: KvSearchOutbox;
  #timer: OutboxTimer | null = null;

  /** Makes no call yet; the store stays open at the end. */
  constructor(parts: AppOutboxParts) {
    this.#parts = parts;
    this.#records = new OutboxStore(parts.store, parts.runtime);
    this.#outbox = new KvSearchOutbox({
      records: this.#records,
      indexes: this.#indexes,
      runtime: parts.runtime,
      defaults: parts.options,
    });
  }

  /** The outbox; null where no index feeds from it. */
  get outbox(): SearchOutbox | null {
    return this.#indexes.size === 0 ? null : this.#outbox;
  }

  /** Adds an index, and gives what announces the writes of its rows. */
  add(index: OutboxIndex): Indexer {
    const { name } = index.open.index;
    this.#indexes.set(name, index);
    return this.#outbox.indexer(name);
  }

  /** Begins to drain it. */
  start(): void {
    if (this.#indexes.size === 0) return;
    this.#timer = new OutboxTimer({
      outbox: this.#outbox,
      records: this.#records,
      runtime: this.#parts.runtime,
      intervalMs: this.#parts.options.intervalMs,
    });
  }

  /** Drains once, unless another process does. Never rejects. */
  async tick(): Promise<void> {
    await this.#timer?.tick();
  }

  /** Ends the draining. */
  async close(): Promise<void> {
    await this.#timer?.stop();
  }
}
