import type { ChangeLog } from "../db/change_log.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Decider } from "./decider.ts";
import { Feed } from "./feed.ts";
import { History } from "./history.ts";
import { PageReader } from "./page_reader.ts";
import { Router } from "./router.ts";
import type { LiveSizes } from "./sizes.ts";
import type { Channel } from "./subscription.ts";

/** How it is decided which rows pass, and what else depends on the engine. */
export interface DecideOptions {
  readonly decider: Decider;
  /** For which columns equality in memory is that of the database. */
  mayIndex(column: ColumnInfo): boolean;
  /** Whether the order of a table's keys is known in memory. */
  knowsKeyOrder(table: TableInfo): boolean;
}

/** What a channel is made of beside its log. */
export interface ChannelOptions extends DecideOptions {
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
    mayIndex: (column) => options.mayIndex(column),
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
    knowsKeyOrder: ({ table }) => options.knowsKeyOrder(table),
  };
}
