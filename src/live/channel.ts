import type { ChangeLog } from "../db/changes/change_log.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Matcher } from "./match/matcher.ts";
import { LiveAggregates } from "./aggregate/live_aggregates.ts";
import { ChangeFeed } from "./feed/change_feed.ts";
import type { SubscriberGroup } from "./dispatch/subscriber_group.ts";
import { ChangeHistory } from "./feed/change_history.ts";
import { ResumeTokens } from "./stream/resume_token.ts";
import { SnapshotReader } from "./stream/snapshot_reader.ts";
import type { RowChange } from "./match/row_change.ts";
import { ChangeDispatcher } from "./dispatch/change_dispatcher.ts";
import type { LiveSizes } from "./live_sizes.ts";
import { Semaphore } from "../runtime/semaphore.ts";

/** What all streams over one database share. */
export interface Channel {
  readonly log: ChangeLog;
  readonly marks: ResumeTokens;
  readonly feed: ChangeFeed;
  readonly history: ChangeHistory;
  readonly pages: SnapshotReader;
  readonly aggregates: LiveAggregates;
  /** Of all who read more than a few rows. */
  readonly gate: Semaphore;
  readonly router: ChangeDispatcher;
  readonly decider: Matcher;
  readonly runtime: Runtime;
  readonly sizes: LiveSizes;
}

/** What a channel is made of beside its log. */
export interface ChannelOptions {
  readonly decider: Matcher;
  readonly runtime: Runtime;
  readonly sizes: LiveSizes;
}

/** What all streams over a log share, ready to serve. */
export async function openChannel(
  log: ChangeLog,
  options: ChannelOptions,
): Promise<Channel> {
  const { decider, runtime, sizes } = options;
  const marks = new ResumeTokens(log.secret);
  const router = new ChangeDispatcher({
    decider,
    log,
    marks,
    check: (group, passage) => void checkDecision(group, passage, { decider, router, runtime }),
  });
  const feed = await ChangeFeed.start({
    log,
    runtime,
    ringLimits: sizes.ring,
    publish: (tick) => router.publish(tick),
    lost: () => router.invalidateAll("history_lost"),
  });
  const gate = new Semaphore(sizes.readers, sizes.mostWaiting);
  return {
    log,
    marks,
    feed,
    history: new ChangeHistory(log, feed.ring),
    pages: new SnapshotReader({ log, clock: runtime.clock, sizes, gate }),
    aggregates: new LiveAggregates(),
    gate,
    router,
    decider,
    runtime,
    sizes,
  };
}

/** What memory decides is checked now and then; where it errs, the streams begin anew. */
async function checkDecision(
  { interest: { table, filter } }: SubscriberGroup,
  { before, after }: RowChange,
  { decider, router, runtime }: Pick<Channel, "decider" | "router" | "runtime">,
): Promise<void> {
  const image = after ?? before;
  if (image === null) return;
  try {
    if (!await decider.check(table, image, filter)) router.recompile(table);
  } catch (error) {
    // A check that could not be made says nothing about the decision.
    runtime.observe({ kind: "live_upkeep_failed", error });
  }
}
