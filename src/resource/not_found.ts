import type { Key } from "../plan/key.ts";
import { Problem } from "../problem/problem.ts";
import type { Resource } from "./resource.ts";

/** The id of a request, as it stood in the path and as a key; null names no possible row. */
export interface KeyIntent {
  readonly segment: string;
  readonly key: Key | null;
}

/** One answer for "is not there" and "is not yours": nobody learns which. */
export function notFound(resource: Resource, segment: string): Problem {
  return new Problem(
    "not-found",
    `There is no ${resource.name} with the id ${segment.slice(0, 100)}`,
  );
}
