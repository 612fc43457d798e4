import type { Credentials } from "../auth/authenticator.ts";
import type { LogSize } from "../db/changes/change_log.ts";
import { allRows } from "../filter/filter.ts";
import { filterWork } from "../filter/filter_work.ts";
import { describeFilter } from "../filter/match/described_filter.ts";
import { Problem } from "../problem/problem.ts";
import { randomDelayBetween } from "../runtime/runtime.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { GroupMemory } from "./aggregate/group_memory.ts";
import { heartbeatTrailers } from "./dispatch/heartbeat_trailers.ts";
import { retryText } from "./dispatch/server_sent_events.ts";
import { noRowsShown } from "./live_view.ts";
import { aggregateQuery } from "./aggregate/live_aggregate.ts";
import { type ResultQuery, ResultStream } from "./result/result_stream.ts";
import type { SharedResult } from "./result/shared_result.ts";
import { windowQuery } from "./window/live_window.ts";
import { repeatUpkeep } from "./repeat_upkeep.ts";
import { tablesReadBy } from "./match/may_affect_filter.ts";
import { endOnDisconnect, type LiveStream } from "./stream/live_stream.ts";
import {
  type AggregateRequest,
  identityOf,
  liveQueryOf,
  requireRecorded,
  requireUnexpired,
  type StreamRequest,
  type SubscribeRequest,
} from "./stream/stream_request.ts";
import { ScopeRecheck } from "./stream/scope_recheck.ts";
import type { StreamQuota } from "./stream/stream_quota.ts";
import { CredentialRecheck, StreamSession, visitRegularly } from "./stream/stream_session.ts";
import { countOpening, noCounts } from "./stream/stream_counts.ts";
import { streamStartOf } from "./stream/subscription_state.ts";
import { Subscription } from "./stream/subscription.ts";
import { OpenedLog, type OpenedLogOptions, type StreamContext } from "./stream_context.ts";

export interface LiveHubOptions extends OpenedLogOptions {
  readonly quota: StreamQuota;
  readonly groupMemory: GroupMemory;
  readonly excluded: ReadonlySet<ColumnInfo>;
  readonly credentials: Pick<Credentials, "of">;
  readonly recheckMs: number;
  /** Deletes old versions of rows. Absent if no versions are recorded. */
  purgeVersions?(): Promise<void>;
}

type MakeStream = (ended: (stream: LiveStream) => void) => LiveStream;
type Prepare = (context: StreamContext) => MaybePromise<MakeStream>;

export class LiveHub {
  readonly counts = noCounts();
  readonly #options: LiveHubOptions;
  readonly #scopes: ScopeRecheck;
  readonly #credentials: CredentialRecheck;
  readonly #sessions = new Map<LiveStream, StreamSession>();
  readonly #strategy: ByteLengthQueuingStrategy;
  readonly #opened: OpenedLog;
  readonly #results = new Map<string, SharedResult>();
  /** All streams share one function, because a closure for each of many streams needs memory. */
  readonly #ended = (stream: LiveStream) => this.#forget(stream);
  #isClosing = false;
  #hidden: ReadonlySet<TableInfo> = new Set();
  #cancelTimers: (() => void)[] = [];
  #stopVisits: (() => void) | null = null;

  constructor(options: LiveHubOptions) {
    this.#options = options;
    this.#opened = new OpenedLog(options);
    this.#strategy = new ByteLengthQueuingStrategy({
      highWaterMark: options.limits.maxUnreadBytes,
    });
    this.#credentials = new CredentialRecheck({
      ...options.runtime,
      credentials: options.credentials,
      onChange: (user) => void this.#scopes.recheckUser(user),
    });
    this.#scopes = new ScopeRecheck(
      options.runtime,
      (user) => this.#credentials.current(user),
    );
  }

  get size(): number {
    return this.#sessions.size;
  }

  get liveSize(): number {
    let count = 0;
    for (const stream of this.#sessions.keys()) if (stream.isLive) count++;
    return count;
  }

  sessions(): IteratorObject<StreamSession> {
    return this.#sessions.values();
  }

  get published(): number {
    return this.#opened.published;
  }

  /** Opens the change log, so that changes are recorded, and purges old changes regularly. */
  async start(): Promise<void> {
    const { runtime, recheckMs } = this.#options;
    this.#cancelTimers.push(
      repeatUpkeep(runtime, purgeMs, () => this.purge()),
      repeatUpkeep(runtime, scopeRecheckMs, () => this.#scopes.recheck()),
      repeatUpkeep(runtime, recheckMs, () => this.#credentials.recheck()),
    );
    await this.#opened.log();
  }

  async purge(): Promise<void> {
    await (await this.#opened.log()).purge();
    await this.#options.purgeVersions?.();
  }

  async logSize(): Promise<LogSize> {
    return await (await this.#opened.log()).size();
  }

  /** Opens a stream of rows. Returns null inside a multiplexed stream. Throws a 429 or 503. */
  subscribe(request: SubscribeRequest): Promise<ReadableStream<Uint8Array> | null> {
    const { window } = request;
    const opening = this.#open(request, async (context) => {
      if (window !== null) {
        return await this.#resultStream(context, request, windowQuery(context, request, window));
      }
      const query = liveQueryOf(request);
      const start = await streamStartOf(request, query, context);
      if (typeof start === "object" && !("reason" in start)) this.counts.resumed++;
      const options = { query, start, identity: identityOf(request) };
      return (ended) => new Subscription(context, options, ended);
    });
    return countOpening(this.counts.rows, opening);
  }

  subscribeAggregate(request: AggregateRequest): Promise<ReadableStream<Uint8Array> | null> {
    const opening = this.#open(
      request,
      (context) =>
        this.#resultStream(
          context,
          request,
          aggregateQuery(context, request, this.#options.groupMemory),
        ),
    );
    return countOpening(this.counts.aggregates, opening);
  }

  async #resultStream(
    context: StreamContext,
    request: StreamRequest,
    resultQuery: ResultQuery,
  ): Promise<MakeStream> {
    const [query, identity] = [liveQueryOf(request), identityOf(request)];
    const results = this.#results;
    // This read calls `hide` if row policies have changed since a shared result was computed.
    await context.log.end();
    return (ended) => new ResultStream(context, { results, query, identity, resultQuery }, ended);
  }

  async #open(
    request: StreamRequest,
    prepare: Prepare,
  ): Promise<ReadableStream<Uint8Array> | null> {
    const { quota, runtime, excluded } = this.#options;
    if (this.#isClosing) throw overloaded("the service is stopping");
    requireUnexpired(request.user, runtime.clock);
    requireRecorded(request, excluded);
    const { user, address, part, requested = allRows } = request;
    const work = filterWork(request.filter);
    const quotaSlot = quota.take(user, address, { streams: part === null ? 1 : 0, parts: 0, work });
    try {
      const context = await this.#opened.context();
      context.feed.requirePresent();
      const { semaphore, aggregateSemaphore } = context;
      if (semaphore.isFull || aggregateSemaphore.isFull) {
        throw overloaded("too many clients begin at once");
      }
      const make = await prepare(context);
      if (this.#isClosing) throw overloaded("the service is stopping");
      const expiresInMs = Math.min(
        requireUnexpired(request.user, runtime.clock),
        this.#credentials.expiryOf(request.user) - runtime.clock.now(),
      );
      const stream = make(this.#ended);
      const now = runtime.clock.elapsedMs();
      const endsAt = now + randomDelayBetween(runtime, minLifeMs, maxLifeMs);
      const session = new StreamSession(request, stream, {
        openedAt: now,
        endsAt: part?.endsAt(endsAt) ?? endsAt,
        expiresAt: now + expiresInMs,
        quotaSlot,
        part,
        excluded,
      });
      this.#sessions.set(stream, session);
      stream.expireAt(session.options.expiresAt);
      this.#stopVisits ??= visitRegularly(
        runtime,
        this.#sessions,
        (due) => this.#checkSessions(due),
      );
      session.watch(this.#scopes, this.#credentials);
      endOnDisconnect(request.disconnected, stream);
      const whole = part === null ? new ReadableStream(stream, this.#strategy) : null;
      part?.attach(
        stream,
        (delayMs) => this.#endAfter(stream, context, delayMs),
        requested.kind === "all" ? null : describeFilter(requested, context.matcher.isCertain),
      );
      if (this.#hidden.has(stream.query.table)) session.revoke();
      return whole;
    } catch (error) {
      quota.free(quotaSlot);
      throw error;
    }
  }

  /** Ends all streams, distributed over `windowMs`, so that not all clients reconnect together. */
  async drain(windowMs: number): Promise<void> {
    this.#isClosing = true;
    const steps = Math.max(1, Math.floor(windowMs / drainStepMs));
    const perStep = Math.ceil(this.#sessions.size / steps);
    const { clock } = this.#options.runtime;
    while (this.#sessions.size > 0) {
      const streams = [...this.#sessions.keys()].slice(0, perStep);
      await this.#endAll(streams, windowMs);
      if (this.#sessions.size === 0) return;
      await new Promise<void>((resolve) =>
        this.#cancelTimers.push(clock.after(drainStepMs, resolve))
      );
    }
  }

  /** Ends the streams of these tables, and all new ones until the next call with other tables. */
  hide(tables: ReadonlySet<TableInfo>): void {
    const changed = tables.symmetricDifference(this.#hidden);
    this.#hidden = tables;
    this.revoke(tables);
    for (const { stream } of [...this.#sessions.values()]) {
      if (!changed.isDisjointFrom(tablesReadBy(stream.query))) stream.restart("scope_changed");
    }
  }

  revoke(tables: ReadonlySet<TableInfo>): void {
    for (const session of [...this.#sessions.values()]) {
      if (tables.has(session.stream.query.table)) session.revoke();
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const cancel of this.#cancelTimers) cancel();
    await this.#endAll([...this.#sessions.keys()], maxRetryMs);
    await this.#opened.close();
  }

  async #checkSessions(streams: readonly LiveStream[]): Promise<void> {
    const context = await this.#opened.present();
    if (context === null) return;
    const { clock } = this.#options.runtime;
    const now = clock.elapsedMs();
    context.snapshots.forgetOldPages();
    const trailerOf = heartbeatTrailers(context);
    for (const stream of streams) {
      const session = this.#sessions.get(stream);
      if (session === undefined) continue;
      if (now >= session.options.endsAt) this.#end(stream, context, 1_000);
      else stream.heartbeat(trailerOf);
    }
  }

  async #endAll(streams: readonly LiveStream[], withinMs: number): Promise<void> {
    if (streams.length === 0) return;
    const context = await this.#opened.present();
    if (context === null) return;
    for (const stream of streams) this.#end(stream, context, withinMs);
  }

  /** Ends a stream with a resume token, so that its client can reconnect and continue there. */
  #end(stream: LiveStream, context: StreamContext, withinMs: number): void {
    const delayMs = randomDelayBetween(
      this.#options.runtime,
      0,
      Math.max(withinMs, shortestRetryMs),
    );
    const part = this.#sessions.get(stream)?.options.part ?? null;
    if (part === null) this.#endAfter(stream, context, delayMs);
    else part.endWhole(delayMs);
  }

  #endAfter(stream: LiveStream, { feed, dispatcher }: StreamContext, delayMs: number): void {
    const token = dispatcher.isDelivering ? "" : stream.tokenAt(feed.position);
    stream.end(token + retryText(delayMs));
  }

  #forget(stream: LiveStream): void {
    const session = this.#sessions.get(stream);
    if (session === undefined) return;
    this.#sessions.delete(stream);
    this.counts[stream.query.view === noRowsShown ? "aggregates" : "rows"].ended++;
    if (this.#sessions.size === 0) {
      this.#stopVisits?.();
      this.#stopVisits = null;
    }
    session.unwatch(this.#scopes, this.#credentials);
    this.#options.quota.free(session.options.quotaSlot);
  }
}

const purgeMs = 60_000;
const scopeRecheckMs = 60_000;
const minLifeMs = 15 * 60_000;
const maxLifeMs = 30 * 60_000;
const shortestRetryMs = 1_000;
const maxRetryMs = 5_000;
const drainStepMs = 50;

function overloaded(why: string): Problem {
  return new Problem("overloaded", `Cannot subscribe now: ${why}`, {
    headers: { "retry-after": "3", "cache-control": "no-store" },
  });
}
