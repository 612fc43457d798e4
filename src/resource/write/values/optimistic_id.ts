import { Problem } from "../../../problem/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { invalidField, ownMember } from "./parse_fields.ts";

/** Parses the optimistic id in a write's header, for the write's live events. Throws a 400. */
export function parseOptimisticId(id: string): string {
  if (isOptimisticId(id)) return id;
  throw new Problem(
    "invalid-parameter",
    "Cannot use this Service-Optimistic-Id: it must be 1 to 200 printable ASCII characters",
  );
}

/** Parses the `_optimisticId` of a batch item. Returns null without one. Throws a 422. */
export function parseItemOptimisticId(item: object): string | null {
  const id = ownMember(item, "_optimisticId") ?? null;
  if (id === null || (typeof id === "string" && isOptimisticId(id))) return id;
  throw invalidField("must be 1 to 200 printable ASCII characters", "_optimisticId");
}

/** Returns the id if the change log can record it, or null if the resource has no streams. */
export function loggedId(id: string | null, resource: Resource): string | null {
  return id === null || resource.hub() === null ? null : id;
}

function isOptimisticId(text: string): boolean {
  return /^[\x20-\x7e]{1,200}$/.test(text);
}
