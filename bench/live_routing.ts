import { openDatabase } from "../mod.ts";
import type { Change } from "../src/db/changes/change_log.ts";
import { resolveChangesOptions } from "../src/db/changes/changes_options.ts";
import { openChangeLog } from "../src/db/changes/open_change_log.ts";
import { createRowReader } from "../src/db/rows.ts";
import { createOperatorRegistry } from "../src/filter/operators/operator_registry.ts";
import { parseFilter } from "../src/filter/syntax/parse_filter.ts";
import { resolveFilter } from "../src/filter/resolve_filter.ts";
import { createMatcher } from "../src/live/match/matcher.ts";
import { ResumeTokens } from "../src/live/stream/resume_token.ts";
import { ChangeDispatcher } from "../src/live/dispatch/change_dispatcher.ts";
import { systemRuntime } from "../src/runtime/system_runtime.ts";
import { tableInfoOf } from "../src/schema/table_like.ts";
import { tickBody, ticks } from "./live_table.ts";

/** The end of the measured path of an event: the event of a group, or the bytes for a client. */
export type RouteEnd = "event" | "bytes";

/**
 * Returns the microseconds per event in the fastest round. The event passes from the log's change
 * through ten thousand groups with different filters, and concerns only one group.
 */
export async function measureRouting(
  filterOf: (number: number) => string,
  end: RouteEnd,
): Promise<number> {
  const db = await openDatabase("sqlite::memory:");
  const table = tableInfoOf(ticks);
  await db.createTables([ticks]);
  const runtime = systemRuntime(() => {});
  const matcher = createMatcher(db.driver, runtime);
  const changes = resolveChangesOptions();
  const log = await openChangeLog({ driver: db.driver, tables: [table], changes, runtime });
  let delivered = 0;
  const resumeTokens = new ResumeTokens(log.secret);
  const dispatcher = new ChangeDispatcher({
    matcher,
    log,
    resumeTokens,
    maxEventBytes: Infinity,
    check: () => {},
  });
  const reader = createRowReader(db.driver.dialect, () => {});
  const operators = createOperatorRegistry({});
  for (let number = 0; number < filterCount; number++) {
    const filter = parseFilter(filterOf(number));
    if (filter === null) throw new Error("A filter of the benchmark is empty");
    const group = dispatcher.enter({
      resource: "/api/ticks",
      table,
      reader,
      filter: resolveFilter(filter, { table, operators, mayFilter: () => true }),
      view: {
        key: "all",
        shape: "all",
        safeNumbers: false,
        shown: [],
        rights: [],
        present: (rows) => rows,
      },
    });
    const follower = {
      invalidate: () => {},
      fail(error: unknown) {
        throw error;
      },
    };
    if (end === "event") {
      group.transitionListeners.add({
        ...follower,
        receive: () => void delivered++,
        doubt: () => {},
      });
    } else group.join({ ...follower, deliver: () => void delivered++, lag: () => {} }, null);
  }
  const publish = (seq: number) => {
    const row = { id: 1, topic: seq * 7919 % filterCount, stamp: seq, body: tickBody };
    const change: Change = {
      seq,
      transaction: null,
      mark: null,
      table,
      kind: "update",
      before: { ...row, stamp: null },
      after: row,
      optimisticId: null,
      sizeBytes: 500,
    };
    return dispatcher.publish({
      changes: [change],
      to: { kind: "sequence", epoch: "bench", seq, mark: 0 },
    });
  };
  let seq = 0;
  let fastest = Infinity;
  // The work needs only one process, so other processes can only make a round slower.
  for (let round = 0; round < 1_000; round++) {
    const startedAt = performance.now();
    let events = 0;
    // Rounds are short, so that some of them run without interruption.
    for (; performance.now() - startedAt < 2; events++) await publish(++seq);
    fastest = Math.min(fastest, (performance.now() - startedAt) * 1e3 / events);
  }
  if (delivered !== seq) throw new Error(`${seq} events had ${delivered} readers`);
  await log.close();
  await db.close();
  return fastest;
}

const filterCount = 10_000;
