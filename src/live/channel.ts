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
  readonly resumeTokens: ResumeTokens;
  readonly feed: ChangeFeed;
  readonly history: ChangeHistory;
  readonly pages: SnapshotReader;
  readonly aggregates: LiveAggregates;
  /** Of all who read more than a few rows. */
  readonly semaphore: Semaphore;
  readonly router: ChangeDispatcher;
  readonly matcher: Matcher;
  readonly runtime: Runtime;
  readonly sizes: LiveSizes;
}

/** What a channel is made of beside its log. */
export interface ChannelOptions {
  readonly matcher: Matcher;
  readonly runtime: Runtime;
  readonly sizes: LiveSizes;
}

/** What all streams over a log share, ready to serve. */
export async function openChannel(
  log: ChangeLog,
  options: ChannelOptions,
): Promise<Channel> {
  const { matcher, runtime, sizes } = options;
  const resumeTokens = new ResumeTokens(log.secret);
  const router = new ChangeDispatcher({
    matcher,
    log,
    resumeTokens,
    check: (group, rowChange) => void checkDecision(group, rowChange, { matcher, router, runtime }),
  });
  const feed = await ChangeFeed.start({
    log,
    runtime,
    ringLimits: sizes.ringBuffer,
    publish: (tick) => router.publish(tick),
    lost: () => router.invalidateAll("history_lost"),
  });
  const semaphore = new Semaphore(sizes.readers, sizes.maxWaiting);
  return {
    log,
    resumeTokens,
    feed,
    history: new ChangeHistory(log, feed.ringBuffer),
    pages: new SnapshotReader({ log, clock: runtime.clock, sizes, semaphore }),
    aggregates: new LiveAggregates(),
    semaphore,
    router,
    matcher,
    runtime,
    sizes,
  };
}

/** What memory decides is checked now and then; where it errs, the streams begin anew. */
async function checkDecision(
  { interest: { table, filter } }: SubscriberGroup,
  { before, after }: RowChange,
  { matcher, router, runtime }: Pick<Channel, "matcher" | "router" | "runtime">,
): Promise<void> {
  const image = after ?? before;
  if (image === null) return;
  try {
    if (!await matcher.check(table, image, filter)) router.recompile(table);
  } catch (error) {
    // A check that could not be made says nothing about the decision.
    runtime.observe({ kind: "live_upkeep_failed", error });
  }
}
