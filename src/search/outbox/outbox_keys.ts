import type { KeyValueKey, KeyValueKeyPart } from "../../kv/key_value.ts";
import { namePart } from "../../kv/key_encoding.ts";
import type { DocumentName, OutboxQueuePosition } from "./outbox_entry.ts";

export const outboxKeys = {
  entry: (name: DocumentName): KeyValueKey => ["search", "outbox", "entry", ...partsOf(name)],
  /** A record in the list of due entries or of dead entries (no longer retried), sorted by time. */
  place: (name: DocumentName, { kind, at }: OutboxQueuePosition): KeyValueKey => [
    ...["search", "outbox", kind],
    at,
    ...partsOf(name),
  ],
  places: (kind: OutboxQueuePosition["kind"]): KeyValueKey => ["search", "outbox", kind],
  /** A document of `enqueue`, in its own record so that lists of entries remain small. */
  document: (name: DocumentName): KeyValueKey => ["search", "outbox", "document", ...partsOf(name)],
  version: ["search", "outbox", "version"],
  sweep: ["search", "outbox", "sweep"],
  drainer: ["search", "outbox", "drainer"],
} as const;

function partsOf({ index, docId }: DocumentName): readonly KeyValueKeyPart[] {
  return [namePart(index, maxNameBytes), namePart(docId, maxNameBytes)];
}

const maxNameBytes = 256;
