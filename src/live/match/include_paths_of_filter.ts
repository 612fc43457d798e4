import type { Change } from "../../db/changes/change_log.ts";
import { allRows, type Filter, type Related } from "../../filter/filter.ts";
import type { Relation } from "../../schema/relation.ts";
import { type IncludePath, type ParentStep, reverseRelation } from "./include_path.ts";
import type { Matcher } from "./matcher.ts";
import { relatedTerms } from "../../filter/related_terms.ts";
import { mayAffectTerm } from "./may_affect_filter.ts";

/** Where a filter's include paths end: at the filtered rows themselves, or at their parents. */
export interface PathEnd {
  readonly name: readonly string[];
  readonly parentSteps: readonly ParentStep[];
}

/** The end of include paths for a stream that shows the filtered rows themselves. */
export const ownRowsEnd: PathEnd = Object.freeze({ name: [], parentSteps: [] });

/** Returns the paths that lead from the related rows of a filter to the rows at the end. */
export function includePathsOfFilter(
  filter: Filter,
  end: PathEnd,
  matcher: Matcher,
): readonly IncludePath[] {
  return relatedTerms(filter).flatMap((term) => pathsOfTerm(term, end, matcher));
}

function pathsOfTerm(term: Related, end: PathEnd, matcher: Matcher): readonly IncludePath[] {
  const { relation, filter, links } = term;
  const mayMatter = (change: Change) => mayAffectTerm(change, term, matcher);
  const { fromTarget, fromLinks } = reverseRelation(relation);
  const target = {
    // `?` marks a path of a filter. The name of an included relation never begins with `?`.
    name: [...end.name, `?${relation.name}`],
    parentSteps: [parentStepOf(fromTarget), ...end.parentSteps],
  };
  const paths = [
    pathTo(target, { table: relation.target, decide: matcher.compile(filter), mayMatter }),
    ...includePathsOfFilter(filter, target, matcher),
  ];
  if (fromLinks === null) return paths;
  const linked = {
    name: [...target.name, ""],
    parentSteps: [parentStepOf(fromLinks), ...end.parentSteps],
  };
  return [
    ...paths,
    pathTo(linked, { table: fromLinks.owner, decide: matcher.compile(links), mayMatter }),
    ...includePathsOfFilter(links, linked, matcher),
  ];
}

export function pathTo(
  { name, parentSteps }: PathEnd,
  start: Pick<IncludePath, "table" | "decide" | "mayMatter">,
): IncludePath {
  return { ...start, name: JSON.stringify(name), parentSteps };
}

function parentStepOf(relation: Relation): ParentStep {
  return { relation, where: allRows, links: allRows, isIndexed: false };
}
