import type { ChangeLog } from "../db/changes/change_log.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Matcher } from "./match/matcher.ts";
import { ChangeFeed } from "./feed/change_feed.ts";
import type { SubscriberGroup } from "./dispatch/subscriber_group.ts";
import { ChangeHistory } from "./feed/change_history.ts";
import { ResumeTokens } from "./stream/resume_token.ts";
import { SnapshotReader } from "./stream/snapshot_reader.ts";
import type { RowChange } from "./match/row_change.ts";
import { ChangeDispatcher } from "./dispatch/change_dispatcher.ts";
import type { LiveLimits } from "./live_limits.ts";
import { Semaphore } from "../runtime/queues/semaphore.ts";

export interface StreamContext extends StreamContextOptions {
  readonly log: ChangeLog;
  readonly resumeTokens: ResumeTokens;
  readonly feed: ChangeFeed;
  readonly history: ChangeHistory;
  readonly snapshots: SnapshotReader;
  readonly semaphore: Semaphore;
  readonly catchUpSemaphore: Semaphore;
  readonly aggregateSemaphore: Semaphore;
  readonly dispatcher: ChangeDispatcher;
}

interface StreamContextOptions {
  readonly matcher: Matcher;
  readonly runtime: Runtime;
  readonly limits: LiveLimits;
}

async function openStreamContext(
  log: ChangeLog,
  options: StreamContextOptions,
): Promise<StreamContext> {
  const { matcher, runtime, limits } = options;
  const resumeTokens = new ResumeTokens(log.secret);
  const dispatcher = new ChangeDispatcher({
    matcher,
    log,
    resumeTokens,
    maxEventBytes: limits.maxEventBytes,
    check: (group, rowChange) =>
      void checkDecision(group, rowChange, { matcher, dispatcher, runtime }),
  });
  const feed = await ChangeFeed.start({
    log,
    runtime,
    ringLimits: limits.ringBuffer,
    publish: (batch) => dispatcher.publish(batch),
    onHistoryLost: () => dispatcher.invalidateAll("history_lost"),
    onReplaced: () => dispatcher.invalidateAll("database_replaced"),
  });
  const semaphore = new Semaphore(limits.maxConcurrentReads, limits.maxWaitingReads);
  return {
    log,
    resumeTokens,
    feed,
    history: new ChangeHistory(log, feed.ringBuffer),
    snapshots: new SnapshotReader({ log, clock: runtime.clock, limits, semaphore }),
    semaphore,
    catchUpSemaphore: new Semaphore(limits.maxConcurrentReads),
    aggregateSemaphore: new Semaphore(limits.maxConcurrentAggregates, limits.maxWaitingReads),
    dispatcher,
    matcher,
    runtime,
    limits,
  };
}

/** Compares an evaluation in memory with a read. If the results differ, streams start over. */
async function checkDecision(
  { query: { table, filter } }: SubscriberGroup,
  { before, after }: RowChange,
  { matcher, dispatcher, runtime }: Pick<StreamContext, "matcher" | "dispatcher" | "runtime">,
): Promise<void> {
  const image = after ?? before;
  if (image === null) return;
  try {
    if (!await matcher.check(table, image, filter)) dispatcher.recompile(table);
  } catch (error) {
    // A failed check does not show that the evaluation in memory was wrong, so streams continue.
    runtime.observe({ kind: "live_upkeep_failed", error });
  }
}

export interface OpenedLogOptions extends StreamContextOptions {
  openLog(): Promise<ChangeLog>;
}

/** Opens the log and the context of streams at the first use, and again after each failure. */
export class OpenedLog {
  readonly #options: OpenedLogOptions;
  #log: Promise<ChangeLog> | null = null;
  #context: Promise<StreamContext> | null = null;
  #feed: ChangeFeed | null = null;

  constructor(options: OpenedLogOptions) {
    this.#options = options;
  }

  get published(): number {
    return this.#feed?.published ?? 0;
  }

  log(): Promise<ChangeLog> {
    return this.#log ??= this.#options.openLog().catch((error) => {
      this.#log = null;
      throw error;
    });
  }

  context(): Promise<StreamContext> {
    return this.#context ??= this.log().then((log) => openStreamContext(log, this.#options))
      .then((context) => {
        this.#feed = context.feed;
        return context;
      }, (error) => {
        this.#context = null;
        throw error;
      });
  }

  present(): Promise<StreamContext | null> {
    return this.#context ?? Promise.resolve(null);
  }

  async close(): Promise<void> {
    const [context, log] = await Promise.allSettled([this.#context, this.#log]);
    if (context.status === "fulfilled") context.value?.feed.close();
    if (log.status === "fulfilled") await log.value?.close();
  }
}
