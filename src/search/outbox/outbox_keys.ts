import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { KeyValueKey, KeyValueKeyPart } from "../../kv/key_value.ts";
import type { DocumentName, OutboxPlace } from "./outbox_entry.ts";

/** Where the search outbox keeps its records in the key-value store. */
export const outboxKeys = {
  /** The entry of a document: its hot key. */
  entry: (name: DocumentName): KeyValueKey => ["search", "outbox", "entry", ...partsOf(name)],
  /** Its place among those that are due or dead, in the order of time; holds its name. */
  place: (name: DocumentName, { kind, at }: OutboxPlace): KeyValueKey => [
    ...["search", "outbox", kind],
    at,
    ...partsOf(name),
  ],
  /** Below this are the places of a kind. */
  places: (kind: OutboxPlace["kind"]): KeyValueKey => ["search", "outbox", kind],
  /** The document that an entry was given, as a record of its own: lists stay small. */
  document: (name: DocumentName): KeyValueKey => ["search", "outbox", "document", ...partsOf(name)],
  /** The last version that was reserved for a write to an index. */
  version: ["search", "outbox", "version"],
  /** When all rows were last indexed again. */
  sweep: ["search", "outbox", "sweep"],
  /** Who drains on a timer. */
  drainer: ["search", "outbox", "drainer"],
} as const;

function partsOf({ index, docId }: DocumentName): readonly KeyValueKeyPart[] {
  return [partOf(index), partOf(docId)];
}

/**
 * A name in a key: its text, or the hash of a long one, since keys are limited. Bytes and text are
 * different keys, so that no document is named like the hash of another.
 */
function partOf(name: string): KeyValueKeyPart {
  if (Buffer.byteLength(name) <= maxNameBytes) return name;
  return new Uint8Array(createHash("sha256").update(name).digest());
}

const maxNameBytes = 256;
