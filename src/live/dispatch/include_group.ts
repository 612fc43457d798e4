import type { Decider } from "../match/matcher.ts";
import type { Group, Interest } from "./subscriber_group.ts";
import { GroupIndex } from "./group_index.ts";
import { type Way, waysOf } from "../match/include_path.ts";

/**
 * The groups that show related rows under theirs, and the same ones: whatever their filters, a
 * change of such a row is the same to them.
 */
export class Showing {
  readonly reading: Pick<Interest, "resource" | "table" | "reader" | "view">;
  readonly groups: Set<Group> = new Set();
  /** The same, to be found by what a row holds. */
  readonly index: GroupIndex;
  /** From the rows that are shown to those under which they are. */
  ways: readonly Way[];

  /** Without groups yet. */
  constructor(reading: Showing["reading"], decider: Decider) {
    this.reading = reading;
    this.index = new GroupIndex(decider.isCertain);
    this.ways = waysOf(reading.view.shown, decider);
  }

  /** Whether anybody reads live: the others look for changes by themselves. */
  get isHeard(): boolean {
    for (const { members } of this.groups) if (members.size > 0) return true;
    return false;
  }
}
