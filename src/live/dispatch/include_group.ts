import type { LiveQuery } from "../live_query.ts";
import type { AffectedGroup } from "../match/affected_parents.ts";
import { EqualityIndex } from "../match/equality_index.ts";
import { type IncludePath, reverseRelation } from "../match/include_path.ts";
import type { Matcher } from "../match/matcher.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";
import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import { allRows, type Filter } from "../../filter/filter.ts";
import type { ShownRelation } from "../live_view.ts";
import { includePathsOfFilter, type PathEnd, pathTo } from "../match/may_affect_filter.ts";

/**
 * The subscriber groups that include the same related rows with the same rights. A changed related
 * row affects the same parent rows in all these groups, whatever the groups' filters are.
 */
export class IncludeGroup implements AffectedGroup {
  readonly query: Pick<LiveQuery, "resource" | "table" | "reader" | "view">;
  readonly #matcher: Matcher;
  readonly #groups: Set<SubscriberGroup> = new Set();
  readonly #index: EqualityIndex<SubscriberGroup>;
  #includePaths: readonly IncludePath[];

  constructor(query: IncludeGroup["query"], matcher: Matcher) {
    this.query = query;
    this.#matcher = matcher;
    this.#index = new EqualityIndex(matcher.isCertain);
    this.#includePaths = includePathsOfView(query.view.shown, matcher);
  }

  get groups(): ReadonlySet<SubscriberGroup> {
    return this.#groups;
  }

  /** The groups, indexed by the column values that their filters require. */
  get index(): Pick<EqualityIndex<SubscriberGroup>, "visit"> {
    return this.#index;
  }

  /** The relations from the included rows back to the rows that include them. */
  get includePaths(): readonly IncludePath[] {
    return this.#includePaths;
  }

  /** True if any group has live subscribers. Streams that are not live read changes themselves. */
  get hasLiveSubscribers(): boolean {
    for (const { liveSubscribers } of this.#groups) if (liveSubscribers.size > 0) return true;
    return false;
  }

  add(group: SubscriberGroup): void {
    this.#groups.add(group);
    this.#index.add(group);
  }

  remove(group: SubscriberGroup): void {
    this.#groups.delete(group);
    this.#index.remove(group);
  }

  /** Compiles the filters again, because fewer operators are now evaluated in memory. */
  recompile(): void {
    this.#includePaths = includePathsOfView(this.query.view.shown, this.#matcher);
    for (const group of this.#groups) {
      this.#index.remove(group);
      this.#index.add(group);
    }
  }
}

/** Returns the paths from the related rows that a view includes, or that its filters read. */
function includePathsOfView(
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
