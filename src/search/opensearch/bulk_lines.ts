import { formatKey } from "../../plan/key.ts";
import type { IndexChange } from "../search_adapter.ts";
import type { BulkTarget } from "./open_search_answers.ts";

/** The lines in a bulk request that write or remove one document. */
export interface BulkLines extends BulkTarget {
  readonly lines: readonly Record<string, unknown>[];
}

/** Returns the bulk lines that write a document, or that remove it if `document` is null. */
export function bulkLines(
  { key, version }: IndexChange,
  document: Record<string, string> | null,
): BulkLines {
  const id = formatKey(key);
  const target = { _id: id, version, version_type: "external" };
  return document === null
    ? { operation: "delete", id, lines: [{ delete: target }] }
    : { operation: "index", id, lines: [{ index: target }, document] };
}
