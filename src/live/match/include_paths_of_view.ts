import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import { allRows, type Filter } from "../../filter/filter.ts";
import type { ShownRelation } from "../live_view.ts";
import { type IncludePath, type ParentStep, reverseRelation } from "./include_path.ts";
import { includePathsOfFilter } from "./include_paths_of_filter.ts";
import type { Matcher } from "./matcher.ts";

/** Returns the paths from the related rows that a view includes, or that its filters read. */
export function includePathsOfView(
  shown: readonly ShownRelation[],
  matcher: Matcher,
): readonly IncludePath[] {
  return pathsBelow(shown, { name: [], where: allRows, parentSteps: [] }, matcher);
}

interface Parents {
  readonly name: readonly string[];
  readonly where: Filter;
  readonly parentSteps: readonly ParentStep[];
}

function pathsBelow(
  shown: readonly ShownRelation[],
  parents: Parents,
  matcher: Matcher,
): readonly IncludePath[] {
  return shown.flatMap(({ relation, filter, links, isIndexed, shown }) => {
    const { where } = parents;
    const name = [
      ...parents.name,
      canonicalFilterText(where),
      relation.name,
      canonicalFilterText(links),
    ];
    const { fromTarget, fromLinks } = reverseRelation(relation);
    const parentSteps = [
      { relation: fromTarget, where, links, isIndexed },
      ...parents.parentSteps,
    ];
    const paths: IncludePath[] = [
      {
        name: JSON.stringify(name),
        table: relation.target,
        decide: matcher.compile(filter),
        mayMatter: null,
        parentSteps,
      },
      // The filter of an included relation can read further related rows, which then matter, too.
      ...includePathsOfFilter(filter, { name, parentSteps }, matcher),
      ...pathsBelow(shown, { name, where: filter, parentSteps }, matcher),
    ];
    if (fromLinks === null) return paths;
    const linked = {
      name: [...name, ""],
      parentSteps: [
        { relation: fromLinks, where, links: allRows, isIndexed },
        ...parents.parentSteps,
      ],
    };
    return [
      ...paths,
      {
        name: JSON.stringify(linked.name),
        table: fromLinks.owner,
        decide: matcher.compile(links),
        mayMatter: null,
        parentSteps: linked.parentSteps,
      },
      ...includePathsOfFilter(links, linked, matcher),
    ];
  });
}
