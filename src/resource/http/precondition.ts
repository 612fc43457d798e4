import { Problem } from "../../problem/problem.ts";
import type { Row } from "../../schema/table_info.ts";
import { matchesIfMatch, tagOf } from "./etag.ts";
import type { Resource } from "../define/resource.ts";

/** The expected state of a row to write: the value of `If-Match`, or null without one. */
export type Precondition = string | null;

/** The precondition of a request, where the resource has tags. Throws a 428 where one is required. */
export function parsePrecondition(header: string | null, resource: Resource): Precondition {
  if (resource.etag === null) return null;
  if (header === null && resource.etag.require) {
    throw new Problem(
      "precondition-required",
      "Cannot write without If-Match: send the row's ETag",
    );
  }
  return header;
}

/** Throws a 412 that carries the current tag unless the precondition holds for the stored row. */
export function requirePrecondition(
  precondition: Precondition,
  row: Row,
  resource: Resource,
): void {
  if (precondition === null || resource.etag === null) return;
  if (matchesIfMatch(precondition, row, resource.etag)) return;
  throw preconditionFailed(tagOf(row, resource.etag));
}

/** The 412 of a write that expects another state; `currentETag` is null where no row is stored. */
export function preconditionFailed(currentETag: string | null): Problem {
  return new Problem("precondition-failed", "The row has changed since you read it", {
    details: { currentETag, suggestion: "Read the row again and repeat the change with its ETag" },
  });
}
