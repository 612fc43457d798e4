import type { ChangeLog } from "../db/changes/change_log.ts";
import { Problem } from "../problem/problem.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import { AggregateStream } from "./aggregate/aggregate_stream.ts";
import { HeartbeatTimer } from "./stream/heartbeat_timer.ts";
import {
  openStreamContext,
  type StreamContext,
  type StreamContextOptions,
} from "./stream_context.ts";
import { commentText, retryText, toBytes, tokenText } from "./dispatch/server_sent_events.ts";
import { ExpiryTimer, requireUnexpired } from "./stream/expiry_timer.ts";
import type { LiveQuery, SubscriberGroup } from "./dispatch/subscriber_group.ts";
import { jitteredBetween } from "../runtime/jitter.ts";
import type { LiveStream } from "./stream/live_stream.ts";
import { parseResumeToken } from "./stream/resume_token.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { StreamQuota } from "./stream/stream_quota.ts";
import { requireRecorded } from "./stream/require_recorded.ts";
import { ScopeRecheck } from "./stream/scope_recheck.ts";
import {
  type AggregateRequest,
  liveQueryOf,
  type StreamRequest,
  type SubscribeRequest,
} from "./stream/stream_request.ts";
import { type StreamStart, Subscription } from "./stream/subscription.ts";
import { StreamSession } from "./stream/stream_session.ts";

/** What a hub is made of. */
export interface LiveHubOptions extends StreamContextOptions {
  /** The log of the database. Asked again where it failed. */
  openLog(): Promise<ChangeLog>;
  readonly quota: StreamQuota;
  /** The columns that are never recorded. */
  readonly excluded: ReadonlySet<ColumnInfo>;
}

/** Makes a stream; it calls back at its end. */
type MakeStream = (ended: (stream: LiveStream) => void) => LiveStream;

/** All streams over one database. */
export class LiveHub {
  readonly #options: LiveHubOptions;
  readonly #scopes: ScopeRecheck;
  readonly #heartbeats: HeartbeatTimer<LiveStream>;
  readonly #expiries: ExpiryTimer<LiveStream>;
  readonly #sessions = new Map<LiveStream, StreamSession>();
  readonly #strategy: ByteLengthQueuingStrategy;
  #log: Promise<ChangeLog> | null = null;
  #channel: Promise<StreamContext> | null = null;
  /** One for all streams. */
  readonly #ended = (stream: LiveStream) => this.#forget(stream);
  #isClosing = false;
  #cancelTimers: (() => void)[] = [];

  /** Nobody follows anything yet. */
  constructor(options: LiveHubOptions) {
    this.#options = options;
    this.#strategy = new ByteLengthQueuingStrategy({
      highWaterMark: options.limits.maxUnreadBytes,
    });
    this.#scopes = new ScopeRecheck(options.runtime);
    this.#heartbeats = new HeartbeatTimer(
      options.runtime,
      (streams) => void this.#checkSessions(streams),
    );
    this.#expiries = new ExpiryTimer(options.runtime.clock, (stream) => stream.expire());
  }

  /** How many streams are open. */
  get size(): number {
    return this.#sessions.size;
  }

  /** How many of them are as far as the log is. */
  get liveSize(): number {
    let count = 0;
    for (const stream of this.#sessions.keys()) if (stream.isLive) count++;
    return count;
  }

  /** Makes sure that changes are recorded from now on, and forgotten in time. */
  async start(): Promise<void> {
    this.#every(purgeMs, async () => await (await this.#openLog()).purge());
    this.#every(rescopeMs, () => this.#scopes.recheck());
    await this.#openLog();
  }

  /** A stream of rows. Throws a 429 or a 503 before it opens. */
  subscribe(request: SubscribeRequest): Promise<ReadableStream<Uint8Array>> {
    return this.#open(request, async (channel) => {
      const query = liveQueryOf(request);
      const start = await streamStartOf(request, query, channel);
      return (ended) => new Subscription(channel, query, start, ended);
    });
  }

  /** A stream of groups. Throws as {@link subscribe}. */
  subscribeAggregate(request: AggregateRequest): Promise<ReadableStream<Uint8Array>> {
    return this.#open(request, (channel) => {
      const query = liveQueryOf(request);
      return (ended) => new AggregateStream(channel, query, request.aggregateQuery, ended);
    });
  }

  async #open(
    request: StreamRequest,
    prepare: (channel: StreamContext) => MaybePromise<MakeStream>,
  ): Promise<ReadableStream<Uint8Array>> {
    if (this.#isClosing) throw overloaded("the service is stopping");
    const { quota, runtime, excluded } = this.#options;
    requireUnexpired(request.user, runtime.clock);
    requireRecorded(request, excluded);
    const quotaSlot = quota.take(request.user, request.address);
    try {
      const channel = await this.#openChannel();
      if (channel.semaphore.isFull) throw overloaded("too many clients begin at once");
      const make = await prepare(channel);
      if (this.#isClosing) throw overloaded("the service is stopping");
      const expiresInMs = requireUnexpired(request.user, runtime.clock);
      const stream = make(this.#ended);
      const now = runtime.clock.elapsedMs();
      const session = new StreamSession(request, stream, {
        slot: this.#heartbeats.add(stream),
        endsAt: now + jitteredBetween(runtime, minLifeMs, maxLifeMs),
        expiresAt: now + expiresInMs,
        quotaSlot,
        excluded,
      });
      this.#sessions.set(stream, session);
      stream.expireAt(session.expiresAt);
      this.#expiries.add(stream, session.expiresAt);
      session.watch(this.#scopes);
      endWhen(request.disconnected, stream);
      return new ReadableStream(stream, this.#strategy);
    } catch (error) {
      quota.free(quotaSlot);
      throw error;
    }
  }

  /** Ends all streams, evenly over a time, so that their clients do not come back all at once. */
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

  /** Ends all streams at once, and reads nothing more. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const cancel of this.#cancelTimers) cancel();
    this.#heartbeats.stop();
    this.#expiries.stop();
    await this.#endAll([...this.#sessions.keys()], maxRetryMs);
    const [channel, log] = await Promise.allSettled([this.#channel, this.#log]);
    if (channel.status === "fulfilled") channel.value?.feed.close();
    if (log.status === "fulfilled") await log.value?.close();
  }

  /** Those whose time is over end; the others get a sign of life. */
  async #checkSessions(streams: ReadonlySet<LiveStream>): Promise<void> {
    const channel = await this.#channel;
    if (channel === null) return;
    const { clock } = this.#options.runtime;
    const now = clock.elapsedMs();
    channel.snapshots.forgetOldPages();
    // The position of the feed is that of but some while a step is on its way to many.
    const trailerOf = channel.dispatcher.isDelivering ? comment : this.#trailers(channel);
    for (const stream of [...streams]) {
      const session = this.#sessions.get(stream);
      if (session === undefined) continue;
      if (now >= session.endsAt) this.#end(stream, channel, 1_000);
      else stream.heartbeat(trailerOf);
    }
  }

  /** The tokens of where live readers stand, each made once. */
  #trailers({ log, feed, resumeTokens }: StreamContext): (group: SubscriberGroup) => Uint8Array {
    const position = log.print(feed.position);
    const known = new Map<SubscriberGroup, Uint8Array>();
    return (group) => {
      const trailer = known.get(group) ??
        toBytes(tokenText(resumeTokens.create(position, group.queryDigest)));
      known.set(group, trailer);
      return trailer;
    };
  }

  async #endAll(streams: readonly LiveStream[], withinMs: number): Promise<void> {
    if (streams.length === 0) return;
    const channel = await this.#channel;
    if (channel === null) return;
    for (const stream of streams) this.#end(stream, channel, withinMs);
  }

  /** Its client comes back, with where it stands. */
  #end(stream: LiveStream, { feed, dispatcher }: StreamContext, withinMs: number): void {
    const delayMs = jitteredBetween(this.#options.runtime, 0, Math.max(withinMs, shortestRetryMs));
    const token = dispatcher.isDelivering ? "" : stream.tokenAt(feed.position);
    stream.end(token + retryText(delayMs));
  }

  #forget(stream: LiveStream): void {
    const session = this.#sessions.get(stream);
    if (session === undefined) return;
    this.#sessions.delete(stream);
    this.#heartbeats.remove(stream, session.slot);
    this.#expiries.remove(stream, session.expiresAt);
    session.unwatch(this.#scopes);
    this.#options.quota.free(session.quotaSlot);
  }

  #openLog(): Promise<ChangeLog> {
    return this.#log ??= this.#options.openLog().catch((error) => {
      this.#log = null;
      throw error;
    });
  }

  #openChannel(): Promise<StreamContext> {
    return this.#channel ??= this.#openLog().then((log) => openStreamContext(log, this.#options))
      .catch(
        (error) => {
          this.#channel = null;
          throw error;
        },
      );
  }

  /** Runs `work` again and again; what goes wrong is observed and tried again the next time. */
  #every(intervalMs: number, work: () => Promise<void>): void {
    const { runtime } = this.#options;
    const index = this.#cancelTimers.length;
    const wait = () => {
      this.#cancelTimers[index] = runtime.clock.after(
        jitteredBetween(runtime, 0.6 * intervalMs, intervalMs),
        async () => {
          await work().catch((error) => {
            if (!this.#isClosing) runtime.observe({ kind: "live_upkeep_failed", error });
          });
          if (!this.#isClosing) wait();
        },
      );
    };
    wait();
  }
}

const purgeMs = 60_000;
const rescopeMs = 60_000;
const minLifeMs = 15 * 60_000;
const maxLifeMs = 30 * 60_000;
const shortestRetryMs = 1_000;
const maxRetryMs = 5_000;
const drainStepMs = 50;

/** A sign of life that says nothing of where a stream stands: its client keeps what it was told. */
function comment(): Uint8Array {
  return toBytes(commentText);
}

async function streamStartOf(
  { resumeFrom, skipExisting }: SubscribeRequest,
  query: LiveQuery,
  { log, feed, resumeTokens }: StreamContext,
): Promise<StreamStart> {
  if (resumeFrom === null) return skipExisting ? "now" : "everything";
  const token = parseResumeToken(resumeFrom);
  const position = token === null ? null : log.parse(token.position);
  // A position that nobody can get to belongs to a future that a restored database has lost.
  if (token === null || position === null || !await feed.readUpTo(position)) {
    return { kind: "anew", reason: "history_lost" };
  }
  const reason = resumeTokens.invalidationReason(token, query);
  return reason === null ? position : { kind: "anew", reason };
}

/** Whoever drops a stream, or wraps it badly, does not cancel it; that the answer is over counts. */
function endWhen(gone: Promise<unknown>, stream: LiveStream): void {
  const end = () => stream.end("");
  gone.then(end, end);
}

function overloaded(why: string): Problem {
  return new Problem("overloaded", `Cannot subscribe now: ${why}`, {
    headers: { "retry-after": "3", "cache-control": "no-store" },
  });
}
