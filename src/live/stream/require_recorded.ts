import type { Filter } from "../../filter/filter.ts";
import { Problem } from "../../problem/problem.ts";
import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { StreamRequest } from "./stream_request.ts";
import type { ShownRelation } from "../live_view.ts";

/**
 * Refuses what changes cannot be told of, because the log does not hold what decides about them: a
 * stream would be silent, and nobody would know. Throws a 400 for what the caller asks, and a plain
 * Error for what the configuration says.
 */
export function requireRecorded(
  { resource, scope, filter, view }: Pick<StreamRequest, "resource" | "scope" | "filter" | "view">,
  excluded: ReadonlySet<ColumnInfo>,
): void {
  if (excluded.size === 0) return;
  const requested = unrecorded(columnsOf(filter), excluded);
  if (requested !== null) throw cannotFollow("filter", `it asks about "${requested.name}"`);
  const stands = unrecorded(view.shown.flatMap(columnsBeneath), excluded);
  if (stands !== null) throw cannotFollow("include", `a relation stands on "${stands.name}"`);
  const decides = unrecorded(
    [...columnsOf(scope), ...view.shown.flatMap(columnsOfRights)],
    excluded,
  );
  if (decides === null) return;
  throw new Error(
    `Cannot follow ${resource}: a scope asks about "${decides.name}", which "changes.exclude" names`,
  );
}

/** The first column of a filter that is not recorded; null where all are. */
export function unrecordedIn(
  filter: Filter,
  excluded: ReadonlySet<ColumnInfo>,
): ColumnInfo | null {
  return unrecorded(columnsOf(filter), excluded);
}

function unrecorded(
  columns: readonly ColumnInfo[],
  excluded: ReadonlySet<ColumnInfo>,
): ColumnInfo | null {
  return columns.find((column) => excluded.has(column)) ?? null;
}

/** All columns that a filter asks about, those that its relations stand on too. */
function columnsOf(filter: Filter): readonly ColumnInfo[] {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.terms.flatMap(columnsOf);
    case "compare":
      return [filter.column];
    case "related":
      return [
        ...columnsAlong(filter.relation),
        ...columnsOf(filter.filter),
        ...columnsOf(filter.links),
      ];
    default:
      return [];
  }
}

function columnsAlong({ steps }: Relation): readonly ColumnInfo[] {
  return steps.flatMap(({ own, other }) => [own, other]);
}

function columnsBeneath({ relation, shown }: ShownRelation): readonly ColumnInfo[] {
  return [...columnsAlong(relation), ...shown.flatMap(columnsBeneath)];
}

function columnsOfRights({ filter, links, shown }: ShownRelation): readonly ColumnInfo[] {
  return [...columnsOf(filter), ...columnsOf(links), ...shown.flatMap(columnsOfRights)];
}

function cannotFollow(parameter: string, why: string): Problem {
  return new Problem(
    "invalid-parameter",
    `Cannot follow by this ${parameter}: ${why}, whose changes are not recorded`,
    { details: { parameter } },
  );
}
