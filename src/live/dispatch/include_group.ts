import type { LiveQuery } from "../live_query.ts";
import type { AffectedGroup } from "../match/affected_parents.ts";
import { EqualityIndex } from "../match/equality_index.ts";
import type { IncludePath } from "../match/include_path.ts";
import { includePathsOfView } from "../match/include_paths_of_view.ts";
import type { Matcher } from "../match/matcher.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";

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
