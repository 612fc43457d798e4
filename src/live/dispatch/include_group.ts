import type { Matcher } from "../match/matcher.ts";
import type { LiveQuery, SubscriberGroup } from "./subscriber_group.ts";
import { EqualityIndex } from "../match/equality_index.ts";
import { type IncludePath, includePathsOfView } from "../match/include_path.ts";

/**
 * The groups that show related rows under theirs, and the same ones: whatever their filters, a
 * change of such a row is the same to them.
 */
export class IncludeGroup {
  readonly query: Pick<LiveQuery, "resource" | "table" | "reader" | "view">;
  readonly groups: Set<SubscriberGroup> = new Set();
  /** The same, to be found by what a row holds. */
  readonly index: EqualityIndex;
  /** From the rows that are shown to those under which they are. */
  includePaths: readonly IncludePath[];

  /** Without groups yet. */
  constructor(query: IncludeGroup["query"], matcher: Matcher) {
    this.query = query;
    this.index = new EqualityIndex(matcher.isCertain);
    this.includePaths = includePathsOfView(query.view.shown, matcher);
  }

  /** Whether anybody reads live: the others look for changes by themselves. */
  get hasLiveSubscribers(): boolean {
    for (const { liveSubscribers: members } of this.groups) if (members.size > 0) return true;
    return false;
  }
}
