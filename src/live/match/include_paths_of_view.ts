import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import { allRows, type Filter } from "../../filter/filter.ts";
import type { ShownRelation } from "../live_view.ts";
import { type IncludePath, reverseRelation } from "./include_path.ts";
import { includePathsOfFilter, type PathEnd, pathTo } from "./include_paths_of_filter.ts";
import type { Matcher } from "./matcher.ts";

/** Returns the paths from the related rows that a view includes, or that its filters read. */
export function includePathsOfView(
  shown: readonly ShownRelation[],
  matcher: Matcher,
): readonly IncludePath[] {
  return pathsBelow(shown, { name: [], where: allRows, parentSteps: [] }, matcher);
}

interface Parents extends PathEnd {
  readonly where: Filter;
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
    const end = { name, parentSteps };
    const paths: IncludePath[] = [
      pathTo(end, { table: relation.target, decide: matcher.compile(filter), mayMatter: null }),
      // The filter of an included relation can read further related rows, which then matter, too.
      ...includePathsOfFilter(filter, end, matcher),
      ...pathsBelow(shown, { ...end, where: filter }, matcher),
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
      pathTo(linked, { table: fromLinks.owner, decide: matcher.compile(links), mayMatter: null }),
      ...includePathsOfFilter(links, linked, matcher),
    ];
  });
}
