import type { ChangeLog } from "../db/change_log.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Decider } from "./decider.ts";
import { Feed } from "./feed.ts";
import { History } from "./history.ts";
import { PageReader } from "./page_reader.ts";
import { Router } from "./router.ts";
import type { LiveSizes } from "./sizes.ts";
import type { Channel } from "./subscription.ts";

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
  const router = new Router({
    decider,
    print: (position) => log.print(position),
  });
  const feed = await Feed.start({
    log,
    runtime,
    ringLimits: sizes.ring,
    publish: (tick) => router.publish(tick),
    lost: () => router.invalidateAll("history_lost"),
  });
  return {
    log,
    feed,
    history: new History(log, feed.ring),
    pages: new PageReader({ log, clock: runtime.clock, sizes }),
    router,
    decider,
    runtime,
    sizes,
  };
}
