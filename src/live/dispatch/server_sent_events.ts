import type { Key } from "../../plan/key.ts";
import { writeJson } from "../../schema/exact_json.ts";
import { safeValue } from "../../schema/safe_numbers.ts";
import type { LiveQuery } from "../live_query.ts";

/** The type of a server-sent event, by what the client does with it. */
export type EventType =
  | "existing"
  | "added"
  | "changed"
  | "removed"
  | "aggregate"
  | "invalidate"
  | "subscription"
  | "refused"
  | "ended";

/** The `reason` in a server-sent `invalidate` event: why the client must discard its rows. */
export type InvalidationReason =
  | "history_lost"
  | "slow_consumer"
  | "scope_changed"
  | "auth_expired"
  | "schema_changed"
  | "truncated"
  | "relation_overflow"
  | "untracked_write"
  | "database_replaced"
  | "server_reset"
  | "query_too_expensive";

/**
 * The text of one server-sent event. `data` holds the type again, for handlers that take every
 * event. It has no `id` line: resume tokens follow whole steps only, in a separate block.
 */
export function eventText(type: EventType, data: Readonly<Record<string, unknown>>): string {
  // JSON text never holds a line break: in strings they are escaped, and nothing is indented. The
  // type is put into the text, because no data is empty, and a copy of it costs measurable time.
  return `event: ${type}\ndata: {"type":"${type}",${writeJson(data).slice(1)}\n\n`;
}

/**
 * The `id` of a row in a server-sent event: its key, which is a list where it has several columns.
 */
export function eventRowId(key: Key, { table, view }: Pick<LiveQuery, "table" | "view">): unknown {
  const shown = view.safeNumbers
    ? table.primaryKey.map((column, index) => safeValue(key[index], column))
    : key;
  return shown.length === 1 ? shown[0] : shown;
}

/** A server-sent block that dispatches no event and sets the client's `Last-Event-ID`. */
export function tokenText(token: string): string {
  return `id: ${token}\n\n`;
}

/**
 * The server-sent event by which the client must discard its rows, and its `Last-Event-ID`, so that
 * it does not resume before.
 */
export function invalidateText(reason: InvalidationReason): string {
  return `${eventText("invalidate", { reason })}id:\n\n`;
}

/** The server-sent `retry` field: how long the client is to wait before it reconnects. */
export function retryText(delayMs: number): string {
  return `retry: ${Math.round(delayMs)}\n\n`;
}

/** A server-sent comment: keeps the connection alive, and dispatches no event. */
export const commentText = ":\n\n";

/** The bytes of server-sent text; streams share them, and never change them. */
export function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
