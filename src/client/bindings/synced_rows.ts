import type {
  LiveMessage,
  LiveRow,
  LiveSeed,
  LiveStatus,
  Subscriber,
} from "../live/live_messages.ts";
import { RowSet } from "../live/row_set.ts";
import { throwLater } from "../live/store.ts";
import type { ServiceError } from "../request/service_error.ts";
import type { RowWrites } from "./row_writes.ts";

/** The functions of a TanStack DB collection that write its rows. */
export interface RowSink<Row, Key> {
  begin(): void;
  write(message: SinkMessage<Row, Key>): void;
  commit(): unknown;
  markReady(): void;
  markError(error: unknown): void;
}

export type SinkMessage<Row, Key> =
  | { readonly type: "insert" | "update"; readonly value: Row }
  | { readonly type: "delete"; readonly key: Key };

export interface SyncedRowsOptions<Key> {
  readonly path: string;
  readonly seed: LiveSeed | undefined;
  readonly writes: RowWrites;
  readonly onStatus: ((status: LiveStatus, error: ServiceError | null) => void) | undefined;
  getKey(row: LiveRow): Key;
}

/**
 * Fills a collection with the rows of a stream. Each resume token in the stream ends a transaction,
 * which writes the differences between the stream's rows and the collection's rows.
 */
export class SyncedRows<Row, Key> implements Subscriber {
  readonly path: string;
  readonly #options: SyncedRowsOptions<Key>;
  readonly #sink: RowSink<Row, Key>;
  readonly #set: RowSet;
  /** The rows in the collection with their keys, by their row ids as strings. */
  readonly #written = new Map<string, { readonly key: Key; readonly row: LiveRow }>();
  readonly #echoes = new Set<string>();
  #isClosed = false;
  #status: LiveStatus = "connecting";

  /** Starts with the rows of the option `seed`, or without rows. */
  constructor(options: SyncedRowsOptions<Key>, sink: RowSink<Row, Key>) {
    this.path = options.path;
    this.#options = options;
    this.#sink = sink;
    this.#set = new RowSet([], options.seed);
    if (options.seed !== undefined) this.#apply();
  }

  /** The fields of the primary key. Empty until the stream's first event. */
  get primaryKey(): readonly string[] {
    return this.#set.description?.primaryKey ?? [];
  }

  token(): string | null {
    return this.#set.token;
  }

  receive(message: LiveMessage): void {
    if (this.#isClosed) return;
    try {
      this.#receive(message);
    } catch (error) {
      // `getKey` or the collection has thrown an error, which ends only this subscriber.
      this.#isClosed = true;
      throwLater(error);
      this.#changeStatus("closed", null);
    }
  }

  #receive(message: LiveMessage): void {
    if (message.type === "status") return this.#changeStatus(message.status, message.error);
    this.#set.take(message);
    if (message.type === "opened") this.#options.writes.begin();
    if (message.type === "opened" || message.type === "invalidate") this.#echoes.clear();
    else if (message.type === "token") {
      this.#apply();
      if (this.#status !== "live") this.#changeStatus("live", null);
    } else if ("id" in message) {
      const { _optimisticId } = "item" in message ? message.item : message;
      this.#echoes.add(String(_optimisticId));
    }
  }

  #apply(): void {
    const { rows, asked } = this.#set;
    this.#sink.begin();
    for (const id of this.#written.keys()) {
      if (!rows.has(id)) this.#remove(id);
    }
    for (const [id, row] of rows) {
      if (this.#written.get(id)?.row !== row) this.#write(id, row);
    }
    this.#sink.commit();
    this.#sink.markReady();
    this.#options.writes.committed(asked, this.#echoes);
    this.#echoes.clear();
  }

  #write(id: string, row: LiveRow): void {
    const key = this.#options.getKey(row);
    const known = this.#written.get(id);
    if (known !== undefined && known.key !== key) this.#remove(id);
    const type = known?.key === key ? "update" : "insert";
    // The cast is safe: the service sends rows of the query, whose type is `Row`.
    this.#sink.write({ type, value: row as Row });
    this.#written.set(id, { key, row });
  }

  #remove(id: string): void {
    const known = this.#written.get(id);
    if (known !== undefined) this.#sink.write({ type: "delete", key: known.key });
    this.#written.delete(id);
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
