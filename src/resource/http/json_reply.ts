import { jsonType, type Reply } from "../../protocol/reply.ts";
import { writeJson } from "../../schema/exact_json.ts";
import type { Row } from "../../schema/table_info.ts";
import { type EtagPolicy, tagOf } from "./etag.ts";
import { type Included, presentRows, viewOf } from "../output.ts";
import type { Resource } from "../define/resource.ts";

/**
 * The `Cache-Control` of JSON replies: they depend on the user, so shared caches may not store
 * them.
 */
export const cacheControl = "private, no-cache";

/**
 * The `Vary` header of JSON replies where exports are enabled: one URL then has several
 * representations.
 */
export const variesByAccept: Readonly<Record<string, string>> = Object.freeze({ vary: "Accept" });

/** Builds a reply with a JSON body. */
export function jsonReply(
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
): Reply {
  const fixed = { "content-type": jsonType, "cache-control": cacheControl };
  return {
    status,
    headers: headers === undefined ? fixed : { ...fixed, ...headers },
    body: writeJson(body),
  };
}

/** What the JSON reply to a write of one row may hold beside the row. */
export interface RowReplyOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly included?: readonly Included[];
  /** The client's id of the row. */
  readonly optimisticId?: string | null;
}

/** The JSON reply to a write of one row, read with all columns: masked, with its ETag. */
export function rowReply(
  status: number,
  row: Row,
  resource: Resource,
  { headers = {}, included, optimisticId = null }: RowReplyOptions = {},
): Reply {
  const { table, etag } = resource;
  const [shown] = presentRows([row], table.columns, viewOf(resource), included);
  const body = optimisticId === null ? shown : { ...shown, _optimisticId: optimisticId };
  return jsonReply(status, body, { ...headers, ...(etag === null ? {} : tagHeaders(row, etag)) });
}

/** The JSON reply to a batch, its rows read with all columns: masked, and without ETags. */
export function rowsReply(
  status: number,
  rows: readonly Row[],
  resource: Resource,
  included?: readonly Included[],
): Reply {
  const { columns } = resource.table;
  return jsonReply(status, { items: presentRows(rows, columns, viewOf(resource), included) });
}

/** The headers by which a JSON reply carries a row's ETag. */
export function tagHeaders(row: Row, etag: EtagPolicy): Readonly<Record<string, string>> {
  const tag = { etag: tagOf(row, etag) };
  // A strong tag promises the same bytes: a proxy that recompresses would break the promise.
  return etag.algorithm === "weak"
    ? tag
    : { ...tag, "cache-control": `${cacheControl}, no-transform` };
}
