import type { ChangeLog } from "../db/change_log.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { Decider } from "./decider.ts";
import { Feed } from "./feed.ts";
import { History } from "./history.ts";
import { PageReader } from "./page_reader.ts";
import { Router } from "./router.ts";
import type { Channel } from "./subscription.ts";

/** How it is decided which rows pass, and what else depends on the engine. */
export interface DecideOptions {
  readonly decider: Decider;
  /** For which columns equality in memory is that of the database. */
  mayIndex(column: ColumnInfo): boolean;
  /** Whether the order of a table's keys is known in memory. */
  knowsKeyOrder(table: TableInfo): boolean;
}

/** What all streams over a log share, ready to serve. */
export async function openChannel(
  log: ChangeLog,
  options: DecideOptions & { readonly runtime: Runtime },
): Promise<Channel> {
  const { decider, runtime } = options;
  const router = new Router({
    decider,
    mayIndex: (column) => options.mayIndex(column),
    print: (position) => log.print(position),
  });
  const feed = await Feed.start({
    log,
    runtime,
    ringLimits: { changes: 20_000, bytes: 16 * 1024 * 1024 },
    publish: (tick) => router.publish(tick),
    lost: () => router.invalidateAll("history_lost"),
  });
  return {
    log,
    feed,
    history: new History(log, feed.ring),
    pages: new PageReader({
      log,
      clock: runtime.clock,
      rowsPerPage: 500,
      readers: 8,
      mostWaiting: 1_000,
    }),
    router,
    decider,
    runtime,
    knowsKeyOrder: ({ table }) => options.knowsKeyOrder(table),
  };
}
