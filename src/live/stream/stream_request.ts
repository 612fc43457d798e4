import type { RowReader } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { LiveQuery } from "../live_query.ts";
import type { LiveAggregateQuery } from "../aggregate/live_aggregate_query.ts";
import type { ScopedRequest } from "./scope_recheck.ts";
import type { LiveView } from "../live_view.ts";

/** What somebody wants to follow. */
export interface StreamRequest extends ScopedRequest {
  /** Where the caller's socket ends, as far as known. */
  readonly address: string | null;
  readonly table: TableInfo;
  readonly reader: RowReader;
  readonly view: LiveView;
  /** The rows of the caller's scope. */
  readonly scope: Filter;
  /** What must hold beside the scope. */
  readonly filter: Filter;
  /** Settles when the caller is gone. */
  readonly disconnected: Promise<unknown>;
}

/** The rows, and what happens to them. */
export interface SubscribeRequest extends StreamRequest {
  /** The token of a stream that ended. */
  readonly resumeFrom: string | null;
  readonly skipExisting: boolean;
}

/** What the rows come to. */
export interface AggregateRequest extends StreamRequest {
  readonly aggregateQuery: LiveAggregateQuery;
}

/** Which rows a request is about, and how they are shown. */
export function liveQueryOf(
  { resource, table, reader, view, scope, filter }:
    & Pick<StreamRequest, "table" | "reader" | "view" | "scope" | "filter">
    & Pick<ScopedRequest, "resource">,
): LiveQuery {
  return { resource, table, reader, view, filter: and(scope, filter) };
}
