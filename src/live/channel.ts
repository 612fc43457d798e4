import type { ChangeLog } from "../db/changes/change_log.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Decider } from "./match/matcher.ts";
import { Aggregates } from "./aggregate/live_aggregates.ts";
import { Feed } from "./feed/change_feed.ts";
import type { Group } from "./dispatch/subscriber_group.ts";
import { History } from "./feed/change_history.ts";
import { Marks } from "./stream/resume_token.ts";
import { PageReader } from "./stream/snapshot_reader.ts";
import type { Passage } from "./match/row_change.ts";
import { Router } from "./dispatch/change_dispatcher.ts";
import type { LiveSizes } from "./live_sizes.ts";
import { Gate } from "../runtime/semaphore.ts";

/** What all streams over one database share. */
export interface Channel {
  readonly log: ChangeLog;
  readonly marks: Marks;
  readonly feed: Feed;
  readonly history: History;
  readonly pages: PageReader;
  readonly aggregates: Aggregates;
  /** Of all who read more than a few rows. */
  readonly gate: Gate;
  readonly router: Router;
  readonly decider: Decider;
  readonly runtime: Runtime;
  readonly sizes: LiveSizes;
}

/** What a channel is made of beside its log. */
export interface ChannelOptions {
  readonly decider: Decider;
  readonly runtime: Runtime;
  readonly sizes: LiveSizes;
}

/** What all streams over a log share, ready to serve. */
export async function openChannel(
  log: ChangeLog,
  options: ChannelOptions,
): Promise<Channel> {
  const { decider, runtime, sizes } = options;
  const marks = new Marks(log.secret);
  const router = new Router({
    decider,
    log,
    marks,
    check: (group, passage) => void checkDecision(group, passage, { decider, router, runtime }),
  });
  const feed = await Feed.start({
    log,
    runtime,
    ringLimits: sizes.ring,
    publish: (tick) => router.publish(tick),
    lost: () => router.invalidateAll("history_lost"),
  });
  const gate = new Gate(sizes.readers, sizes.mostWaiting);
  return {
    log,
    marks,
    feed,
    history: new History(log, feed.ring),
    pages: new PageReader({ log, clock: runtime.clock, sizes, gate }),
    aggregates: new Aggregates(),
    gate,
    router,
    decider,
    runtime,
    sizes,
  };
}

/** What memory decides is checked now and then; where it errs, the streams begin anew. */
async function checkDecision(
  { interest: { table, filter } }: Group,
  { before, after }: Passage,
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
