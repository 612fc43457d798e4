import type { Key } from "../../plan/key.ts";
import { writeJson } from "../../schema/exact_json.ts";

/** The events of a stream, by what the client does with them. */
export type EventType = "existing" | "added" | "changed" | "removed" | "aggregate" | "invalidate";

/** Why a client must discard what it holds. */
export type InvalidationReason =
  | "history_lost"
  | "slow_consumer"
  | "scope_changed"
  | "auth_expired"
  | "schema_changed"
  | "truncated"
  | "relation_overflow"
  | "untracked_write"
  | "server_reset";

/**
 * One server-sent event. `data` holds the type again, for handlers that take every event. It has no
 * `id` line: resume tokens follow whole steps only, in a separate block.
 */
export function eventText(type: EventType, data: Readonly<Record<string, unknown>>): string {
  // JSON text never holds a line break: in strings they are escaped, and nothing is indented. The
  // type is put into the text, because no data is empty, and a copy of it costs measurable time.
  return `event: ${type}\ndata: {"type":"${type}",${writeJson(data).slice(1)}\n\n`;
}

/** The `id` of a row in events: its key, which is a list where it has several columns. */
export function eventRowId(key: Key): unknown {
  return key.length === 1 ? key[0] : key;
}

/** A block that dispatches no event and sets the client's `Last-Event-ID`. */
export function tokenText(token: string): string {
  return `id: ${token}\n\n`;
}

/** The client must discard its rows, and its `Last-Event-ID`, so that it does not resume before. */
export function invalidateText(reason: InvalidationReason): string {
  return `${eventText("invalidate", { reason })}id:\n\n`;
}

/** How long the client is to wait before it reconnects. */
export function retryText(delayMs: number): string {
  return `retry: ${Math.round(delayMs)}\n\n`;
}

/** Keeps the connection alive, and dispatches no event. */
export const commentText = ":\n\n";

/** The bytes of a text; streams share them, and never change them. */
export function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
