import { type Key, parseKey } from "../../plan/key.ts";
import { notFound } from "../read/not_found_or_forbidden.ts";
import type { ResourceRequest } from "../operation.ts";
import { parsePrecondition, type Precondition } from "../http/precondition.ts";
import type { Resource } from "../define/resource.ts";

/** The row that a request names, and what it says about it; `key` is null for an impossible id. */
export interface NamedRow {
  readonly segment: string;
  readonly key: Key | null;
  readonly ifMatch: string | null;
}

/** One row to change or remove, and what the caller believes about it. */
export interface RowTarget {
  readonly key: Key;
  /** The id as it stood in the request, for messages. */
  readonly segment: string;
  readonly precondition: Precondition;
}

/** The row that the request names. */
export function parseNamedRow({ segment, header }: ResourceRequest, { table }: Resource): NamedRow {
  return { segment, key: parseKey(segment, table), ifMatch: header("if-match") };
}

/** The row to write to. Throws a 404 for an impossible id, and a 428 where `If-Match` is required. */
export function planTarget({ segment, key, ifMatch }: NamedRow, resource: Resource): RowTarget {
  if (key === null) throw notFound(resource, segment);
  return { key, segment, precondition: parsePrecondition(ifMatch, resource) };
}
