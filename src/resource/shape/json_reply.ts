import { keyId, keyOf } from "../../plan/key.ts";
import { jsonType, type Reply } from "../../protocol/reply.ts";
import { jsonFits } from "../../schema/json_fits.ts";
import type { Row } from "../../schema/table_info.ts";
import { type EtagPolicy, tagOf } from "../http/etag.ts";
import { answerTooLarge, writtenRows } from "../http/answer_bytes.ts";
import { DataReply } from "../http/data_reply.ts";
import type { ReplySize } from "../http/large_reply.ts";
import { type Included, presentRows, viewOf } from "./output.ts";
import type { Resource } from "../model/resource.ts";
import type { ShapedReply } from "../model/operation.ts";
import type { WrittenRows } from "../model/written_rows.ts";

/**
 * The `Cache-Control` of JSON replies: they depend on the user, so shared caches may not store
 * them.
 */
export const cacheControl = "private, no-cache";

/** The `Vary` header of replies with rows: numbers have a safe form, and lists are exported. */
export const variesByAccept: Readonly<Record<string, string>> = Object.freeze({ vary: "Accept" });

/** Builds a reply with a JSON body. */
export function jsonReply(
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
): DataReply {
  return new DataReply(status, body, jsonHeaders(headers));
}

/** Builds the reply to a read with a JSON body, whose size is limited. */
export function limitedReply(
  status: number,
  body: unknown,
  size: ReplySize,
  headers?: Readonly<Record<string, string>>,
): DataReply {
  return new DataReply(status, body, jsonHeaders(headers), size);
}

function jsonHeaders(headers?: Readonly<Record<string, string>>): Reply["headers"] {
  const fixed = { "content-type": jsonType, "cache-control": cacheControl, ...variesByAccept };
  return headers === undefined ? fixed : { ...fixed, ...headers };
}

/**
 * The type of a body with safe numbers. The client knows by it that the service has answered, and not
 * a proxy. The charset comes first: nginx then sees which type it compresses.
 */
export const safeType: Readonly<Record<string, string>> = Object.freeze({
  "content-type": `${jsonType};charset=utf-8;numbers=safe`,
});

/** The same reply for who asks for safe numbers: with a body always, as proxies remove the type of a 204. */
export function safeReply(reply: ShapedReply): ShapedReply {
  const headers = { ...reply.headers, ...safeType };
  if (reply instanceof DataReply) {
    return new DataReply(reply.status, reply.data, headers, reply.size);
  }
  return reply.status === 204 ? jsonReply(200, {}, headers) : reply;
}

/** What the JSON reply to a write of one row may hold beside the row. */
export interface RowReplyOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly included?: readonly Included[];
  /** The client's id of the write. */
  readonly optimisticId?: string | null;
}

/** The JSON reply to a write of one row, read with all columns: masked, with its ETag. */
export function rowReply(
  status: number,
  row: Row,
  resource: Resource,
  { headers = {}, included, optimisticId = null }: RowReplyOptions = {},
): DataReply {
  const { table, etag } = resource;
  const [shown] = presentRows([row], table.columns, viewOf(resource), included);
  const body = optimisticId === null ? shown : { ...shown, _optimisticId: optimisticId };
  return jsonReply(status, body, { ...headers, ...(etag === null ? {} : tagHeaders(row, etag)) });
}

/**
 * The JSON reply to a batch, its rows read with all columns: masked, without ETags, and with the
 * client's ids of the rows.
 */
export function rowsReply(
  status: number,
  { rows, recorded }: WrittenRows,
  resource: Resource,
  included?: readonly Included[],
): DataReply {
  const { table } = resource;
  const shown = presentRows(rows, table.columns, viewOf(resource), included);
  return jsonReply(status, { items: recorded.size === 0 ? shown : withIds(shown, rows) });

  function withIds(shown: readonly Row[], rows: readonly Row[]): readonly Row[] {
    return shown.map((item, index) => {
      const id = recorded.get(keyId(keyOf(rows[index] ?? {}, table), table));
      return id === undefined ? item : { ...item, _optimisticId: id };
    });
  }
}

/**
 * Requires, before the transaction of a write ends, that the JSON reply to several rows is not too
 * large: a write that is refused has changed nothing. Throws a 422.
 */
export function requireFittingReply(
  rows: readonly Row[],
  resource: Resource,
  included?: readonly Included[],
): void {
  const { table: { columns }, readCosts: { maxAnswerBytes } } = resource;
  // Computed fields are functions of the deployer, which run once for an answer.
  const view = { ...viewOf(resource), computed: { ...resource.computed, fields: [] } };
  const shown = presentRows(rows, columns, view, included);
  if (!jsonFits(shown, maxAnswerBytes)) throw answerTooLarge(maxAnswerBytes, writtenRows);
}

/** The headers by which a JSON reply carries a row's ETag. */
export function tagHeaders(row: Row, etag: EtagPolicy): Readonly<Record<string, string>> {
  const tag = { etag: tagOf(row, etag) };
  // A strong tag promises the same bytes: a proxy that recompresses would break the promise.
  return etag.algorithm === "weak"
    ? tag
    : { ...tag, "cache-control": `${cacheControl}, no-transform` };
}
