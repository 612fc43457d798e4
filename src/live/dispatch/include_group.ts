import type { Matcher } from "../match/matcher.ts";
import type { Interest, SubscriberGroup } from "./subscriber_group.ts";
import { GroupIndex } from "./group_index.ts";
import { type IncludePath, includePathsOf } from "../match/include_path.ts";

/**
 * The groups that show related rows under theirs, and the same ones: whatever their filters, a
 * change of such a row is the same to them.
 */
export class IncludeGroup {
  readonly reading: Pick<Interest, "resource" | "table" | "reader" | "view">;
  readonly groups: Set<SubscriberGroup> = new Set();
  /** The same, to be found by what a row holds. */
  readonly index: GroupIndex;
  /** From the rows that are shown to those under which they are. */
  includePaths: readonly IncludePath[];

  /** Without groups yet. */
  constructor(reading: IncludeGroup["reading"], matcher: Matcher) {
    this.reading = reading;
    this.index = new GroupIndex(matcher.isCertain);
    this.includePaths = includePathsOf(reading.view.shown, matcher);
  }

  /** Whether anybody reads live: the others look for changes by themselves. */
  get isHeard(): boolean {
    for (const { members } of this.groups) if (members.size > 0) return true;
    return false;
  }
}
