import type { CollectionConfig, OperationType, PendingMutation } from "@tanstack/db";
import { connectionOf } from "../live/live_connection.ts";
import type { LiveListQuery } from "../live/live_list.ts";
import type { LiveRow, LiveSeed, LiveStatus } from "../live/live_messages.ts";
import { idOf } from "../live/row_set.ts";
import { handle } from "../../api/handle.ts";
import { type KeyInput, keyPath } from "../request/key_path.ts";
import { queryText } from "../request/query_text.ts";
import type { ServiceError } from "../request/service_error.ts";
import type { ApiResource } from "../../api/api.ts";
import type { ResourceClient } from "../../api/resource_client.ts";
import type { FieldOf, IncludeOf, RowOf } from "../../api/rows.ts";
import { createRowWrites } from "./row_writes.ts";
import { type RowSink, SyncedRows } from "./synced_rows.ts";

/** Which rows of a resource a collection of TanStack DB has, and how they are written. */
export interface LiveCollectionOptions<
  R extends ApiResource,
  Key extends string | number,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> extends Pick<LiveListQuery<R, Fields, Included>, "filter" | "select" | "include"> {
  /** The name of the collection; TanStack DB makes one up. */
  readonly id?: string | undefined;
  /** The key of a row in the collection. The fields of the primary key have to be in `select`. */
  readonly getKey: (row: CollectionRow<RowOf<R, Fields, Included>>) => Key;
  /** What `prefetch` has read: the collection has it at once, and continues after it. */
  readonly seed?: LiveSeed | undefined;
  /** The body that creates a row which was inserted; the row itself unless set. */
  readonly createBody?:
    | ((row: CollectionRow<RowOf<R, Fields, Included>>) => R["create"])
    | undefined;
  /** Called when the stream of the collection breaks, and when it is there again. */
  readonly onStatus?: ((status: LiveStatus, error: ServiceError | null) => void) | undefined;
}

/** A row of a collection; `_etag` is its tag, where the resource has tags. */
export type CollectionRow<Row> = Row & { readonly _etag?: string };

/**
 * The options of a collection of TanStack DB whose rows are those of a resource, for
 * `createCollection`. Inserts, updates and deletes are sent to the service, with the tag of the row
 * that was seen; each is optimistic until the stream has it, and is taken back when it is refused.
 * One collection is made of the result.
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
    const query = queryText({ filter, select, include });
    rows = new SyncedRows({
      path: `${path}/subscribe${query}`,
      // The rows are those of the query, which the types of `liveCollectionOptions` say.
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
    // The row has the fields of its key, which are values of a key.
    return `${path}/${keyPath(idOf(row as LiveRow, rows?.primaryKey ?? []) as KeyInput)}`;
  }

  async function send<T extends OperationType>(
    { mutations }: { readonly mutations: readonly PendingMutation<Row, T>[] },
    write: (mutation: PendingMutation<Row, T>) => Promise<void>,
  ): Promise<void> {
    // All are answered before the transaction ends, so that none is on its way when it is taken back.
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
          // Without `_etag` a row is still a row, which the compiler does not see in generic types.
          ...{ method: "POST", path, body: createBody?.(row as Row) ?? row },
        })),
    onUpdate: ({ transaction }) =>
      send(transaction, ({ key, original, changes }) => {
        // An update has what it changes, unlike an insert.
        const row = original as Row;
        return writes.send(String(key), row._etag, {
          ...{ method: "PATCH", path: pathOf(row), body: changes },
        });
      }),
    onDelete: ({ transaction }) =>
      send(transaction, ({ key, original }) => {
        // What is deleted was there, unlike what is inserted.
        const row = original as Row;
        return writes.send(String(key), row._etag, { method: "DELETE", path: pathOf(row) });
      }),
  };
}
