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
 * One server-sent event. `data` holds the type again, for handlers that take every event. There is
 * no `id` line in it: a position stands behind whole steps only, in a block of its own.
 */
export function eventText(type: EventType, data: Readonly<Record<string, unknown>>): string {
  // JSON text never holds a line break: in strings they are escaped, and nothing is indented. The
  // type is put into the text, because no data is empty, and a copy of it for each event is felt.
  return `event: ${type}\ndata: {"type":"${type}",${writeJson(data).slice(1)}\n\n`;
}

/** What events call a row: the key, which is a list where it has several columns. */
export function eventRowId(key: Key): unknown {
  return key.length === 1 ? key[0] : key;
}

/** A block that dispatches nothing and moves the client's `Last-Event-ID`. */
export function tokenText(token: string): string {
  return `id: ${token}\n\n`;
}

/** "Discard what you hold", and the position with it: nobody may resume from before. */
export function invalidateText(reason: InvalidationReason): string {
  return `${eventText("invalidate", { reason })}id:\n\n`;
}

/** Tells the client how long to wait before it comes back. */
export function retryText(delayMs: number): string {
  return `retry: ${Math.round(delayMs)}\n\n`;
}

/** Keeps the connection alive, and says nothing. */
export const commentText = ":\n\n";

/** The bytes of a text; they are shared by all who get them, and never changed. */
export function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
