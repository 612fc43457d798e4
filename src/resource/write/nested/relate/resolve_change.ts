import type { RelateStep } from "../nested_rows.ts";
import type { ResolvedChange, ResolvingContext } from "./related_row.ts";
import { resolveChildren } from "./resolve_children.ts";
import { resolveLinks } from "./resolve_links.ts";

/** Locks and returns the rows that a step writes. Throws a 422 or 403 that names the body's row. */
export async function resolveStep(
  step: RelateStep,
  resolving: ResolvingContext,
): Promise<ResolvedChange> {
  const resolve = step.relation.type === "manyToMany" ? resolveLinks : resolveChildren;
  const all: ResolvedChange[] = [];
  for (const change of step.changes) all.push(await resolve(step, change, resolving));
  return {
    rows: all.flatMap(({ rows }) => rows),
    related: all.flatMap(({ related }) => related),
  };
}
