import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { KeyValueKey, KeyValueKeyPart } from "../../kv/key_value.ts";
import type { DocumentName, OutboxQueuePosition } from "./outbox_entry.ts";

/** The keys of the search outbox in the key-value store. */
export const outboxKeys = {
  /** The entry of a document. Many processes change it. */
  entry: (name: DocumentName): KeyValueKey => ["search", "outbox", "entry", ...partsOf(name)],
  /** A record that orders due or dead entries by time. Its value is the document's name. */
  place: (name: DocumentName, { kind, at }: OutboxQueuePosition): KeyValueKey => [
    ...["search", "outbox", kind],
    at,
    ...partsOf(name),
  ],
  places: (kind: OutboxQueuePosition["kind"]): KeyValueKey => ["search", "outbox", kind],
  /** A document passed to `enqueue`. Its record is separate, so that lists of entries are small. */
  document: (name: DocumentName): KeyValueKey => ["search", "outbox", "document", ...partsOf(name)],
  /** The last version that was reserved for a write to an index. */
  version: ["search", "outbox", "version"],
  /** The time of the last sweep. */
  sweep: ["search", "outbox", "sweep"],
  /** The lease of the drainer that a timer starts. */
  drainer: ["search", "outbox", "drainer"],
} as const;

function partsOf({ index, docId }: DocumentName): readonly KeyValueKeyPart[] {
  return [partOf(index), partOf(docId)];
}

/**
 * Returns a name as a part of a key, or the hash of a long name, because keys are limited. Hashes
 * are bytes and names are strings, so a name never equals the hash of another name.
 */
function partOf(name: string): KeyValueKeyPart {
  if (Buffer.byteLength(name) <= maxNameBytes) return name;
  return new Uint8Array(createHash("sha256").update(name).digest());
}

const maxNameBytes = 256;
