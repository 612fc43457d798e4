import type { RowReader } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { LiveQuery } from "../live_query.ts";
import type { LiveAggregateQuery } from "../aggregate/live_aggregate_query.ts";
import type { ScopedRequest } from "./scope_recheck.ts";
import type { LiveView } from "../live_view.ts";
import type { StreamPart } from "./stream_part.ts";

/** A request for a live stream, as the resource passes it to the hub. */
export interface StreamRequest extends ScopedRequest {
  /** The address of the caller's socket, or null if it is not known. */
  readonly address: string | null;
  readonly table: TableInfo;
  readonly reader: RowReader;
  readonly view: LiveView;
  /** The rows that the caller was granted. */
  readonly scope: Filter;
  /** The filter of the request, and "not deleted". */
  readonly filter: Filter;
  /** Resolves or rejects when the caller has disconnected. */
  readonly disconnected: Promise<unknown>;
  /** The part of a multiplexed stream that the stream becomes; null for a separate stream. */
  readonly part: StreamPart | null;
}

/** Returns the user or the address to which a stream's reads and memory are attributed. */
export function identityOf({ user, address }: Pick<StreamRequest, "user" | "address">): string {
  return user === null ? `a${address ?? ""}` : `u${user.id}`;
}

export interface SubscribeRequest extends StreamRequest {
  /** The resume token of an earlier stream. */
  readonly resumeFrom: string | null;
  readonly skipExisting: boolean;
}

export interface AggregateRequest extends StreamRequest {
  readonly aggregateQuery: LiveAggregateQuery;
}

/** Returns the live query of a stream request: its rows and their view. */
export function liveQueryOf(
  { resource, table, reader, view, scope, filter }:
    & Pick<StreamRequest, "table" | "reader" | "view" | "scope" | "filter">
    & Pick<ScopedRequest, "resource">,
): LiveQuery {
  return { resource, table, reader, view, filter: and(scope, filter) };
}
