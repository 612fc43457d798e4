import type { Key } from "../../plan/key.ts";
import { writeJson } from "../../schema/exact_json.ts";
import { safeValue } from "../../schema/safe_numbers.ts";
import type { LiveQuery } from "../live_view.ts";

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

/** The `reason` of an `invalidate` event: why the client must discard its rows. */
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
  | "window_reread"
  | "query_too_expensive";

/** Returns an event without an `id` line. Its JSON repeats the type of the `event` line. */
export function eventText(type: EventType, data: Readonly<Record<string, unknown>>): string {
  // Adds the type as text: copying `data` takes measurable time. Empty `data` would leave a comma.
  return eventOf(type, writeJson(data).slice(1, -1));
}

export function eventOf(type: EventType, members: string): string {
  return `event: ${type}\ndata: {"type":"${type}",${members}}\n\n`;
}

/** Returns a row's `id` in an event: its primary key, as a list if it has several columns. */
export function eventRowId(key: Key, { table, view }: Pick<LiveQuery, "table" | "view">): unknown {
  const shown = view.safeNumbers
    ? table.primaryKey.map((column, index) => safeValue(key[index], column))
    : key;
  return shown.length === 1 ? shown[0] : shown;
}

/** Returns a block that sets the client's `Last-Event-ID` and dispatches no event. */
export function resumeTokenText(token: string): string {
  return `id: ${token}\n\n`;
}

/** Returns the event that makes the client discard its rows, and clears its `Last-Event-ID`. */
export function invalidateText(reason: InvalidationReason): string {
  return `${eventText("invalidate", { reason })}id:\n\n`;
}

export function retryText(delayMs: number): string {
  return `retry: ${Math.round(delayMs)}\n\n`;
}

/** A server-sent comment, which keeps the connection alive and dispatches no event. */
export const commentText = ":\n\n";

export function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
