import { allRows, type Filter, type Related } from "../../filter/filter.ts";
import type { Change } from "../../db/changes/change_log.ts";
import type { Relation, RelationStep } from "../../schema/relation.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { Matcher } from "./matcher.ts";
import { mayAffectTerm, relatedTerms } from "./may_affect_filters.ts";
import type { IncludePath, ParentStep } from "./include_path.ts";

/** From where ways go on: the steps up from the rows of a filter, and how they are called. */
export interface PathStart {
  readonly name: readonly string[];
  readonly parentSteps: readonly ParentStep[];
}

/** The rows of the filter are those that are followed. */
export const ownRows: PathStart = Object.freeze({ name: [], parentSteps: [] });

/**
 * All ways from the rows that a filter walks to back to the rows that it is about, and on from
 * there. Nothing is asked of the rows between: one that no longer passes has let others through
 * before.
 */
export function includePathsOfFilter(
  filter: Filter,
  above: PathStart,
  matcher: Matcher,
): readonly IncludePath[] {
  return relatedTerms(filter).flatMap((term) => includePathsOfWalk(term, above, matcher));
}

function includePathsOfWalk(
  term: Related,
  above: PathStart,
  matcher: Matcher,
): readonly IncludePath[] {
  const { relation, filter, links } = term;
  const mayMatter = (change: Change) => mayAffectTerm(change, term, matcher);
  const { owner, target, steps: [near, far] } = relation;
  const home = reversedStep(near, owner);
  const back = far === undefined ? [home] : [reversedStep(far, near.table), home];
  const beyond = {
    // No step of an include is called so.
    name: [...above.name, `?${relation.name}`],
    parentSteps: [parentStepOf(reversedRelation(relation, target, back)), ...above.parentSteps],
  };
  const includePaths = [
    pathOf(beyond, { table: target, decide: matcher.compile(filter), mayMatter }),
    ...includePathsOfFilter(filter, beyond, matcher),
  ];
  if (far === undefined) return includePaths;
  const linked = {
    name: [...beyond.name, ""],
    parentSteps: [
      parentStepOf(reversedRelation(relation, near.table, [home])),
      ...above.parentSteps,
    ],
  };
  return [
    ...includePaths,
    pathOf(linked, { table: near.table, decide: matcher.compile(links), mayMatter }),
    ...includePathsOfFilter(links, linked, matcher),
  ];
}

function pathOf(
  { name, parentSteps }: PathStart,
  path: Pick<IncludePath, "table" | "decide" | "mayMatter">,
): IncludePath {
  return { ...path, name: JSON.stringify(name), parentSteps };
}

function parentStepOf(relation: ParentStep["relation"]): ParentStep {
  return { relation, where: allRows, links: allRows, isIndexed: false };
}

/** A step the other way round, to `table`. */
export function reversedStep({ own, other }: RelationStep, table: TableInfo): RelationStep {
  return { table, own: other, other: own };
}

/** A relation the other way round, by the steps that lead back. */
export function reversedRelation(
  relation: Relation,
  from: TableInfo,
  steps: readonly RelationStep[],
): Relation {
  const [first, second] = steps;
  if (first === undefined) throw new Error("A relation has a step");
  return {
    ...relation,
    owner: from,
    target: relation.owner,
    toMany: true,
    steps: second === undefined ? [first] : [first, second],
  };
}
