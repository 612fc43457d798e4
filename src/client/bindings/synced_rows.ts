import type { SyncConfig } from "@tanstack/db";
import type { LiveSeed } from "../live/live_list.ts";
import type {
  LiveMessage,
  LiveRow,
  LiveStatus,
  RowDescription,
  Subscriber,
} from "../live/live_messages.ts";
import { idOf, idText } from "../live/row_set.ts";
import type { ServiceError } from "../request/service_error.ts";
import type { RowWrites } from "./row_writes.ts";

/** The rows of a collection, as they come from the service. */
export interface SyncedRows<Row extends object, Key extends string | number> {
  readonly sync: SyncConfig<Row, Key>["sync"];
  /** The fields of the primary key; none before the first rows. */
  primaryKey(): readonly string[];
}

/** Where the rows of a collection come from. */
export interface SyncedRowsOptions<Key extends string | number> {
  readonly path: string;
  readonly seed: LiveSeed | undefined;
  readonly writes: RowWrites;
  readonly onStatus: ((status: LiveStatus, error: ServiceError | null) => void) | undefined;
  getKey(row: LiveRow): Key;
  /** Opens the stream; returns what ends it. */
  connect(subscriber: Subscriber): () => void;
}

/**
 * Follows the rows of a query: what one token confirms is one transaction of the collection, and a
 * list that begins again is compared with what the collection has.
 */
export function createSyncedRows<Row extends object, Key extends string | number>(
  { path, seed, writes, onStatus, getKey, connect }: SyncedRowsOptions<Key>,
): SyncedRows<Row, Key> {
  let description: RowDescription | undefined = seed;

  const sync: SyncConfig<Row, Key>["sync"] = ({ begin, write, commit, markReady, markError }) => {
    /** The keys of the rows that the collection has, by the texts of their ids. */
    const keys = new Map<string, Key>();
    let token: string | null = null;
    /** Whether the changes are all rows there are. */
    let isSnapshot = false;
    let changes = new Map<string, LiveRow | null>();
    let echoes = new Set<string>();

    function start(isNew: boolean): void {
      changes = new Map();
      echoes = new Set();
      isSnapshot = isNew;
    }

    function takeAll({ items, ids }: Extract<LiveMessage, { type: "existing" }>): void {
      items.forEach((row, index) => {
        changes.set(idText(ids?.[index] ?? idOf(row, description?.primaryKey ?? [])), row);
      });
    }

    function apply(): void {
      if (isSnapshot) {
        for (const id of keys.keys()) if (!changes.has(id)) changes.set(id, null);
      }
      begin();
      for (const [id, row] of changes) {
        const known = keys.get(id);
        const key = row === null ? undefined : getKey(row);
        if (known !== undefined && known !== key) {
          write({ type: "delete", key: known });
          keys.delete(id);
        }
        if (key === undefined) continue;
        // The service sends the rows of the query, which the types of the collection say.
        write({ type: known === key ? "update" : "insert", value: row as Row });
        keys.set(id, key);
      }
      commit();
      markReady();
      writes.committed(echoes);
      start(false);
    }

    function receive(message: LiveMessage): void {
      switch (message.type) {
        case "opened":
          description = message;
          writes.opened(message.isOld === true);
          return start(token === null);
        case "existing":
          return takeAll(message);
        case "invalidate":
          token = null;
          return start(true);
        case "added":
        case "changed": {
          const { _optimisticId, ...row } = message.item;
          echoes.add(String(_optimisticId));
          return void changes.set(idText(message.id), row);
        }
        case "removed":
          echoes.add(String(message._optimisticId));
          return void changes.set(idText(message.id), null);
        case "token":
          token = message.token;
          return apply();
        case "status":
          return changeStatus(message.status, message.error);
        case "aggregate":
      }
    }

    function changeStatus(status: LiveStatus, error: ServiceError | null): void {
      onStatus?.(status, error);
      if (status !== "closed" && status !== "needs-auth") return;
      markError(error);
      if (status === "closed") writes.release();
    }

    writes.asking();
    if (seed !== undefined) {
      start(true);
      takeAll({ ...seed, type: "existing" });
      token = seed.token;
      apply();
    }
    const leave = connect({
      path,
      token() {
        writes.asking();
        return token;
      },
      receive,
    });
    return () => {
      leave();
      writes.release();
    };
  };
  return { sync, primaryKey: () => description?.primaryKey ?? [] };
}
