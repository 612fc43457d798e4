import type { CollectionConfig, OperationType, PendingMutation } from "@tanstack/db";
import { connectionOf } from "../live/direct_connection.ts";
import type { FilterInput } from "../../api/checked_text.ts";
import type { RowsQuery } from "../../api/read_options.ts";
import type {
  LiveMessage,
  LiveRow,
  LiveSeed,
  LiveStatus,
  Subscriber,
} from "../live/live_messages.ts";
import { rowIdOf, RowSet } from "../live/row_set.ts";
import { handle } from "../../api/handle.ts";
import { type KeyInput, keyPath } from "../request/key_path.ts";
import { queryString } from "../request/query_string.ts";
import type { ServiceError } from "../request/service_error.ts";
import type { ResourceClient } from "../../api/resource_client.ts";
import type { ApiResource, FieldOf, IncludeOf, RowOf } from "../../api/rows.ts";
import { createRowWrites, type RowWrites } from "./row_writes.ts";
import { runSafely } from "../live/store.ts";

/** The options of a TanStack DB collection that contains rows of a resource. */
export interface LiveCollectionOptions<
  R extends ApiResource,
  Key extends string | number,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> extends RowsQuery<R, Fields, Included, FilterInput> {
  /** The name of the collection. Default: a name that TanStack DB generates. */
  readonly id?: string | undefined;
  /** Returns the key of a row. `select` must contain the fields of the primary key. */
  readonly getKey: (row: CollectionRow<RowOf<R, Fields, Included>>) => Key;
  /** The result of `prefetch`. The collection shows the prefetched rows immediately. */
  readonly seed?: LiveSeed | undefined;
  /** Returns the body that creates an inserted row. Default: the row itself. */
  readonly createBody?:
    | ((row: CollectionRow<RowOf<R, Fields, Included>>) => R["create"])
    | undefined;
  /** Called when the stream's status changes, with the error that caused the status, or null. */
  readonly onStatus?: ((status: LiveStatus, error: ServiceError | null) => void) | undefined;
}

/** A row of a collection. If the resource has ETags, `_etag` is the row's ETag. */
export type CollectionRow<Row> = Row & { readonly _etag?: string };

/**
 * Returns the options for TanStack DB's `createCollection`, for one collection of a resource's
 * rows. Writes are sent with the ETag that the user saw. They are optimistic until the stream
 * confirms them, and are rolled back if the service refuses them.
 */
export function liveCollectionOptions<
  R extends ApiResource,
  Key extends string | number,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = never,
>(
  resource: ResourceClient<R>,
  options: LiveCollectionOptions<R, Key, Fields, Included>,
): CollectionConfig<CollectionRow<RowOf<R, Fields, Included>>, Key> & { schema?: never } {
  type Row = CollectionRow<RowOf<R, Fields, Included>>;
  const { transport, path } = resource[handle];
  const { id, getKey, seed, createBody, filter, select, include, onStatus } = options;
  const writes = createRowWrites(transport);
  let rows: SyncedRows<Row, Key> | null = null;

  function sync(sink: RowSink<Row, Key>): () => void {
    const query = queryString({ filter, select, include });
    rows = new SyncedRows({
      path: `${path}/subscribe${query}`,
      // The cast is safe: `Row` is the type of the rows that the query returns.
      getKey: (row) => getKey(row as Row),
      ...{ seed, onStatus, writes },
    }, sink);
    writes.begin();
    const leave = connectionOf(transport).add(rows);
    return () => {
      leave();
      writes.release();
    };
  }

  function pathOf(row: object): string {
    // The cast is safe: the row contains the fields of its primary key.
    return `${path}/${keyPath(rowIdOf(row as LiveRow, rows?.primaryKey ?? []) as KeyInput)}`;
  }

  async function send<T extends OperationType>(
    { mutations }: { readonly mutations: readonly PendingMutation<Row, T>[] },
    write: (mutation: PendingMutation<Row, T>) => Promise<void>,
  ): Promise<void> {
    // Waits for all responses, because TanStack DB must not roll back while a write is in progress.
    const results = await Promise.allSettled(mutations.map(write));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  return {
    ...(id !== undefined && { id }),
    getKey,
    sync: { sync, rowUpdateMode: "full" },
    onInsert: ({ transaction }) =>
      send(transaction, ({ key, modified: { _etag, ...row } }) =>
        writes.send(String(key), _etag, {
          // The cast is necessary: the compiler cannot infer the type of the row.
          ...{ method: "POST", path, body: createBody?.(row as Row) ?? row },
        })),
    onUpdate: ({ transaction }) =>
      send(transaction, ({ key, original, changes }) => {
        // The cast is safe: an update always has an original row.
        const row = original as Row;
        return writes.send(String(key), row._etag, {
          ...{ method: "PATCH", path: pathOf(row), body: changes },
        });
      }),
    onDelete: ({ transaction }) =>
      send(transaction, ({ key, original }) => {
        // The cast is safe: a delete always has an original row.
        const row = original as Row;
        return writes.send(String(key), row._etag, { method: "DELETE", path: pathOf(row) });
      }),
  };
}

interface RowSink<Row, Key> {
  begin(): void;
  write(message: SinkMessage<Row, Key>): void;
  commit(): unknown;
  markReady(): void;
  markError(error: unknown): void;
}

type SinkMessage<Row, Key> =
  | { readonly type: "insert" | "update"; readonly value: Row }
  | { readonly type: "delete"; readonly key: Key };

interface SyncedRowsOptions<Key> {
  readonly path: string;
  readonly seed: LiveSeed | undefined;
  readonly writes: RowWrites;
  readonly onStatus: ((status: LiveStatus, error: ServiceError | null) => void) | undefined;
  getKey(row: LiveRow): Key;
}

/** Copies a stream's rows into a collection. Each resume token commits the changes before it. */
class SyncedRows<Row, Key> implements Subscriber {
  readonly path: string;
  readonly #options: SyncedRowsOptions<Key>;
  readonly #sink: RowSink<Row, Key>;
  readonly set: RowSet;
  readonly #written = new Map<string, Key>();
  readonly #echoes = new Set<string>();
  #isClosed = false;
  #status: LiveStatus = "connecting";

  constructor(options: SyncedRowsOptions<Key>, sink: RowSink<Row, Key>) {
    this.path = options.path;
    this.#options = options;
    this.#sink = sink;
    this.set = new RowSet([], options.seed);
    if (options.seed !== undefined) this.#apply();
  }

  get primaryKey(): readonly string[] {
    return this.set.description?.primaryKey ?? [];
  }

  receive(message: LiveMessage): void {
    if (this.#isClosed) return;
    runSafely(() => this.#receive(message), () => {
      // `getKey` or the collection has thrown an error. The error ends only this subscriber.
      this.#isClosed = true;
      this.#changeStatus("closed", null);
    });
  }

  #receive(message: LiveMessage): void {
    if (message.type === "status") return this.#changeStatus(message.status, message.error);
    this.set.take(message);
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
    const { last, asked } = this.set;
    this.#sink.begin();
    for (const [id, row] of last) if (!row) this.#remove(id);
    for (const [id, row] of last) if (row) this.#write(id, row);
    this.#sink.commit();
    this.#sink.markReady();
    this.#options.writes.committed(asked, this.#echoes);
    this.#echoes.clear();
  }

  #write(id: string, row: LiveRow): void {
    const key = this.#options.getKey(row);
    const known = this.#written.get(id);
    if (known !== key) this.#remove(id);
    const type = known === key ? "update" : "insert";
    // The cast is safe: `Row` is the type of the rows that the query returns.
    this.#sink.write({ type, value: row as Row });
    this.#written.set(id, key);
  }

  #remove(id: string): void {
    const key = this.#written.get(id);
    if (key !== undefined) this.#sink.write({ type: "delete", key });
    this.#written.delete(id);
  }

  #changeStatus(status: LiveStatus, error: ServiceError | null): void {
    const { onStatus, writes } = this.#options;
    this.#status = status;
    runSafely(() => onStatus?.(status, error), () => {});
    if (status !== "closed" && status !== "needs-auth") return;
    this.#sink.markError(error);
    if (status === "closed") writes.release();
  }
}
