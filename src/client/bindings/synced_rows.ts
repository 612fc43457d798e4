import type {
  LiveMessage,
  LiveRow,
  LiveSeed,
  LiveStatus,
  RowDescription,
  Subscriber,
} from "../live/live_messages.ts";
import { rowIdOf, rowIdText } from "../live/row_set.ts";
import { throwLater } from "../live/store.ts";
import type { ServiceError } from "../request/service_error.ts";
import type { RowWrites } from "./row_writes.ts";

/** The interface through which rows are written into a TanStack DB collection. */
export interface RowSink<Row, Key> {
  begin(): void;
  write(message: SinkMessage<Row, Key>): void;
  commit(): unknown;
  markReady(): void;
  markError(error: unknown): void;
}

/** One change of the rows that a {@link RowSink} receives. */
export type SinkMessage<Row, Key> =
  | { readonly type: "insert" | "update"; readonly value: Row }
  | { readonly type: "delete"; readonly key: Key };

/** The options that choose which rows of a service a collection receives. */
export interface SyncedRowsOptions<Key> {
  readonly path: string;
  readonly seed: LiveSeed | undefined;
  readonly writes: RowWrites;
  readonly onStatus: ((status: LiveStatus, error: ServiceError | null) => void) | undefined;
  getKey(row: LiveRow): Key;
}

/**
 * Fills a collection with the rows of a stream. Each token of the stream ends one transaction. If
 * the stream starts over, the new rows are compared with the rows of the collection.
 */
export class SyncedRows<Row, Key> implements Subscriber {
  readonly path: string;
  readonly #options: SyncedRowsOptions<Key>;
  readonly #sink: RowSink<Row, Key>;
  /** The keys of the collection's rows, by the string forms of the row ids. */
  readonly #keys = new Map<string, Key>();
  #description: RowDescription | undefined;
  #token: string | null = null;
  #asked = 0;
  /** True if the pending changes contain all rows, and so replace the collection's rows. */
  #isSnapshot = false;
  #changes = new Map<string, LiveRow | null>();
  #echoes = new Set<string>();
  #isClosed = false;
  #status: LiveStatus = "connecting";

  /** Starts with the rows of the option `seed`, or without rows. */
  constructor(options: SyncedRowsOptions<Key>, sink: RowSink<Row, Key>) {
    const { path, seed } = options;
    this.path = path;
    this.#options = options;
    this.#sink = sink;
    this.#description = seed;
    if (seed === undefined) return;
    this.#isSnapshot = true;
    this.#takeAll({ ...seed, type: "existing" });
    this.#token = seed.token;
    this.#apply();
  }

  /** The fields of the primary key. Empty until the first rows arrive. */
  get primaryKey(): readonly string[] {
    return this.#description?.primaryKey ?? [];
  }

  token(): string | null {
    return this.#token;
  }

  receive(message: LiveMessage): void {
    if (this.#isClosed) return;
    try {
      this.#receive(message);
    } catch (error) {
      // `getKey` or the collection has thrown an error. Only this subscriber is closed.
      this.#isClosed = true;
      throwLater(error);
      this.#changeStatus("closed", null);
    }
  }

  #receive(message: LiveMessage): void {
    switch (message.type) {
      case "opened":
        this.#description = message;
        this.#asked = message.asked;
        this.#options.writes.begin();
        return this.#start(!message.isResumed);
      case "existing":
        return this.#takeAll(message);
      case "invalidate":
        this.#token = null;
        return this.#start(true);
      case "added":
      case "changed": {
        const { _optimisticId, ...row } = message.item;
        return this.#take(message.id, row, _optimisticId);
      }
      case "removed":
        return this.#take(message.id, null, message._optimisticId);
      case "token":
        this.#token = message.token;
        this.#apply();
        return this.#status === "live" ? undefined : this.#changeStatus("live", null);
      case "status":
        return this.#changeStatus(message.status, message.error);
      case "aggregate":
    }
  }

  #start(isSnapshot: boolean): void {
    this.#changes = new Map();
    this.#echoes = new Set();
    this.#isSnapshot = isSnapshot;
  }

  #takeAll({ items, ids }: Extract<LiveMessage, { type: "existing" }>): void {
    items.forEach((row, index) => {
      this.#changes.set(rowIdText(ids?.[index] ?? rowIdOf(row, this.primaryKey)), row);
    });
  }

  #take(id: unknown, row: LiveRow | null, optimisticId: unknown): void {
    this.#echoes.add(String(optimisticId));
    this.#changes.set(rowIdText(id), row);
  }

  #apply(): void {
    const sink = this.#sink;
    if (this.#isSnapshot) {
      for (const id of this.#keys.keys()) {
        if (!this.#changes.has(id)) this.#changes.set(id, null);
      }
    }
    sink.begin();
    for (const [id, row] of this.#changes) this.#write(id, row);
    sink.commit();
    sink.markReady();
    this.#options.writes.committed(this.#asked, this.#echoes);
    this.#start(false);
  }

  #write(id: string, row: LiveRow | null): void {
    const keys = this.#keys;
    const known = keys.get(id);
    const key = row === null ? undefined : this.#options.getKey(row);
    if (known !== undefined && known !== key) {
      this.#sink.write({ type: "delete", key: known });
      keys.delete(id);
    }
    if (key === undefined) return;
    // The cast is safe: the service sends rows of the query, whose type is `Row`.
    this.#sink.write({ type: known === key ? "update" : "insert", value: row as Row });
    keys.set(id, key);
  }

  #changeStatus(status: LiveStatus, error: ServiceError | null): void {
    const { onStatus, writes } = this.#options;
    this.#status = status;
    try {
      onStatus?.(status, error);
    } catch (error) {
      throwLater(error);
    }
    if (status !== "closed" && status !== "needs-auth") return;
    this.#sink.markError(error);
    if (status === "closed") writes.release();
  }
}
