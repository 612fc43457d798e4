import type { RowReader } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { LiveQuery } from "../live_query.ts";
import type { LiveAggregateQuery } from "../aggregate/live_aggregate_query.ts";
import type { ScopedRequest } from "./scope_recheck.ts";
import type { LiveView } from "../live_view.ts";
import type { StreamPart } from "./stream_part.ts";

/** A request for a live stream, which the resource passes to the hub. */
export interface StreamRequest extends ScopedRequest {
  /** The caller's IP address; null if unknown. */
  readonly address: string | null;
  readonly table: TableInfo;
  readonly reader: RowReader;
  readonly view: LiveView;
  /** The filter of the rows that the caller may see. */
  readonly scope: Filter;
  /** The filter of the request, and the condition "not deleted". */
  readonly filter: Filter;
  /** Completes, with or without an error, when the caller has disconnected. */
  readonly disconnected: Promise<unknown>;
  /** The part of a multiplexed stream that carries this stream; null if it has its own response. */
  readonly part: StreamPart | null;
}

/** Returns the user or IP address whose limits the stream's reads and memory count against. */
export function identityOf({ user, address }: Pick<StreamRequest, "user" | "address">): string {
  return user === null ? `a${address ?? ""}` : `u${user.id}`;
}

export interface SubscribeRequest extends StreamRequest {
  /** The resume token of an earlier stream, after which this stream continues. */
  readonly resumeFrom: string | null;
  readonly skipExisting: boolean;
}

export interface AggregateRequest extends StreamRequest {
  readonly aggregateQuery: LiveAggregateQuery;
}

/** Returns the live query of a request: which rows the stream sends, and in which form. */
export function liveQueryOf(
  { resource, table, reader, view, scope, filter }:
    & Pick<StreamRequest, "table" | "reader" | "view" | "scope" | "filter">
    & Pick<ScopedRequest, "resource">,
): LiveQuery {
  return { resource, table, reader, view, filter: and(scope, filter) };
}
