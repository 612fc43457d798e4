import type { ChangeLog } from "../db/change_log.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Decider } from "./decider.ts";
import { Aggregates } from "./aggregates.ts";
import { Feed } from "./feed.ts";
import type { Group } from "./group.ts";
import { History } from "./history.ts";
import { Marks } from "./mark.ts";
import { PageReader } from "./page_reader.ts";
import type { Passage } from "./passage.ts";
import { Router } from "./router.ts";
import type { LiveSizes } from "./sizes.ts";
import { Gate } from "./gate.ts";

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
