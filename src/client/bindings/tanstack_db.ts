import type { CollectionConfig, OperationType, PendingMutation } from "@tanstack/db";
import { connectionOf } from "../live/live_connection.ts";
import type { LiveListQuery } from "../live/live_list.ts";
import type { LiveRow, LiveSeed, LiveStatus } from "../live/live_messages.ts";
import { rowIdOf } from "../live/row_set.ts";
import { handle } from "../../api/handle.ts";
import { type KeyInput, keyPath } from "../request/key_path.ts";
import { queryString } from "../request/query_string.ts";
import type { ServiceError } from "../request/service_error.ts";
import type { ApiResource } from "../../api/api.ts";
import type { ResourceClient } from "../../api/resource_client.ts";
import type { FieldOf, IncludeOf, RowOf } from "../../api/rows.ts";
import { createRowWrites } from "./row_writes.ts";
import { type RowSink, SyncedRows } from "./synced_rows.ts";

/** The options of a TanStack DB collection that contains rows of a resource. */
export interface LiveCollectionOptions<
  R extends ApiResource,
  Key extends string | number,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> extends Pick<LiveListQuery<R, Fields, Included>, "filter" | "select" | "include"> {
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
  /** Called when the collection's stream breaks, and when it works again. */
  readonly onStatus?: ((status: LiveStatus, error: ServiceError | null) => void) | undefined;
}

/** A row of a collection. If the resource has ETags, `_etag` is the row's ETag. */
export type CollectionRow<Row> = Row & { readonly _etag?: string };

/**
 * Returns the options of a TanStack DB collection for `createCollection`. The collection contains
 * rows of a resource. It sends inserts, updates and deletes to the service, with the ETag of the
 * row as the user saw it. Each write is optimistic until the stream confirms it, and is rolled back
 * if the service refuses it. The result can be used for only one collection.
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
      // The cast is safe: the function's signature declares rows of the query's type.
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
    // The cast is safe: the row contains valid values of all fields of its primary key.
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
          // The cast is necessary: the compiler cannot infer that the row has the type Row.
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
