import type { KeyValueKey, KeyValueKeyPart } from "../../kv/key_value.ts";
import { namePart } from "../../kv/key_encoding.ts";
import type { DocumentName, OutboxQueuePosition } from "./outbox_entry.ts";

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
  return [namePart(index, maxNameBytes), namePart(docId, maxNameBytes)];
}

const maxNameBytes = 256;
