import { pageEnvironmentOf } from "../environment.ts";
import type { PageEnvironment } from "../../api/client_environment.ts";
import { errorOfProblem, ServiceError } from "../request/service_error.ts";
import type { EventFields } from "./event_reader.ts";
import type { LiveConnection, LiveStatus, StreamEventData, Subscriber } from "./live_messages.ts";
import { maxSilenceMs, readStream, type SubscriptionRequest } from "./live_stream.ts";
import { openListsOf } from "./open_lists.ts";
import type { Transport } from "../../api/transport.ts";

/**
 * Keeps one stream of `POST /__service/live` open, and opens a stream again whenever it ends. When
 * the set of subscribers changes, opens a new stream before it closes the old stream. The new
 * stream continues at each subscriber's resume token. Aborts a stream without subscribers.
 */
export class DirectConnection implements LiveConnection {
  readonly #transport: Transport;
  readonly #page: PageEnvironment;
  readonly #members = new Map<string, Member>();
  /** A further connection for the subscriptions that do not fit into one stream. */
  #overflow: DirectConnection | null = null;
  #lastKey = 0;
  /** Aborts the open stream. Null without an open stream. */
  #stream: AbortController | null = null;
  /** Aborts the request for the next stream. Null without such a request. */
  #asking: AbortController | null = null;
  /** Time of the last data from the stream; 0 without an open stream. */
  #heardAt = 0;
  /** Number of consecutive streams that failed or ended within a few seconds. */
  #failures = 0;
  /** Minimum delay before the next stream, in milliseconds. The service can change it. */
  #retryMs = 1_000;
  #pausedUntil = 0;
  /** The end of a pause that the service requested, which a page's return to view does not end. */
  #limitedUntil = 0;
  #opensAt = Infinity;
  #cancelOpening = () => {};
  #stopWaking = () => {};

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#page = pageEnvironmentOf(transport);
  }

  add(subscriber: Subscriber): () => void {
    const { now, onWake } = this.#page;
    const members = this.#members;
    if (members.size === maxSubscriptions) {
      return (this.#overflow ??= new DirectConnection(this.#transport)).add(subscriber);
    }
    const key = String(this.#lastKey++);
    members.set(key, { subscriber, notBefore: 0 });
    this.#stopWaking();
    this.#stopWaking = onWake(() => this.#wake());
    this.#openAt(members.size > 1 ? now() + quietMs : 0);
    return () => {
      members.delete(key);
      if (members.size > 0) return this.#openAt(now() + quietMs);
      // Waits, because UI frameworks often unsubscribe and immediately subscribe again.
      queueMicrotask(() => {
        if (members.size === 0) void this.#open();
      });
    };
  }

  reopen(): void {
    this.#openAt(0);
    this.#overflow?.reopen();
  }

  wake(): void {
    for (const member of this.#members.values()) {
      if (member.notBefore < Infinity) continue;
      member.notBefore = 0;
      this.#openAt(0);
    }
    this.#wake();
    this.#overflow?.wake();
  }

  #wake(): void {
    const { now, isHidden } = this.#page;
    if (now() - this.#heardAt < maxSilenceMs / 2 || isHidden()) return;
    this.#pausedUntil = this.#limitedUntil;
    this.#openAt(0);
  }

  /** Schedules the opening of a stream, unless an earlier opening is scheduled. */
  #openAt(wanted: number): void {
    const { now, after } = this.#page;
    const at = Math.max(wanted, this.#pausedUntil, now());
    if (at >= this.#opensAt) return;
    this.#cancelOpening();
    this.#opensAt = at;
    this.#cancelOpening = after(at - now(), () => void this.#open());
  }

  #stop(): void {
    this.#stream?.abort();
    this.#asking?.abort();
    this.#stream = this.#asking = null;
    this.#heardAt = 0;
  }

  /** Opens one stream for all subscribers, except subscribers that must wait after a refusal. */
  async #open(): Promise<void> {
    const { now, isHidden } = this.#page;
    this.#cancelOpening();
    this.#opensAt = Infinity;
    this.#asking?.abort();
    const subscriptions = this.#subscriptions();
    if (this.#members.size === 0) this.#stopWaking();
    if (subscriptions.length === 0) return this.#stop();
    const own = this.#asking = new AbortController();
    let openedAt = Infinity;
    let seenAt = 0;
    const error: unknown = await readStream(this.#transport, subscriptions, own, {
      arrived: () => {
        if (this.#asking === own) {
          this.#stream?.abort();
          this.#stream = own;
          this.#asking = null;
          openedAt = seenAt = now();
        }
        if (this.#stream !== own) return;
        this.#heardAt = now();
        if (!isHidden()) seenAt = now();
        // The page has not been hidden for long, so its streams stay open.
        if (now() - seenAt < hiddenMs) return;
        this.#stop();
        this.#report("stale", null);
      },
      take: this.#createReader(subscriptions),
    }).catch((error) => error);
    if (this.#stream !== own && this.#asking !== own) return;
    // If the service refuses all lists of a stream, it ends the stream, which is not a failure.
    const isNeeded = subscriptions.some(({ key }) => this.#members.get(key)?.notBefore! < now());
    if (isNeeded || openedAt > now()) this.#ended(own, now() - openedAt, error);
    else this.#stream = null;
  }

  #subscriptions(): readonly SubscriptionRequest[] {
    const { now } = this.#page;
    return [...this.#members].flatMap(([key, { notBefore, subscriber }]) => {
      if (notBefore <= now()) {
        return { key, path: subscriber.path, resumeFrom: subscriber.token() ?? undefined };
      }
      this.#openAt(notBefore);
      return [];
    });
  }

  #createReader(subscriptions: readonly SubscriptionRequest[]): (block: EventFields) => void {
    const asked = ++openListsOf(this.#transport).asked;
    let current = "";
    return ({ data, id, retry }) => {
      if (retry) this.#retryMs = +retry;
      if (id) this.#members.get(current)?.subscriber.receive({ type: "token", token: id });
      if (!data) return;
      // The cast is safe: only the service writes these streams.
      const message = JSON.parse(data) as StreamEventData;
      const { key = current } = message as { readonly key?: string };
      const member = this.#members.get(key);
      if (message.type === "subscription") {
        current = key;
        const isResumed = subscriptions.some((one) => one.key === key && one.resumeFrom);
        if (message.types) {
          member?.subscriber.receive({ ...message, type: "opened", isResumed, asked });
        }
      } else if (message.type === "ended") this.#postpone(member, null);
      else if (message.type === "refused") {
        const { status, problem, retryAfter = 0 } = message;
        const facts = { status, retryAfterMs: retryAfter * 1_000 || null };
        this.#postpone(member, errorOfProblem(problem, facts));
      } else member?.subscriber.receive(message);
    };
  }

  #postpone(member: Member | undefined, error: ServiceError | null): void {
    if (!member) return;
    member.subscriber.receive({ type: "status", status: statusAfter(error), error });
    this.#openAt(member.notBefore = this.#page.now() + this.#delayAfter(error));
  }

  /** Returns the delay before the next attempt in ms: it grows exponentially, with jitter. */
  #delayAfter(error: ServiceError | null): number {
    const status = statusAfter(error);
    if (status === "closed" || status === "needs-auth") return Infinity;
    const jitter = this.#page.random() *
      Math.min(30_000, 1_000 * 2 ** this.#failures);
    return Math.max(error?.retryAfterMs ?? 0, this.#retryMs, jitter);
  }

  #ended(stream: AbortController, lastedMs: number, error: unknown): void {
    const { now, isOnline } = this.#page;
    this.#failures = lastedMs > longLifeMs ? 0 : this.#failures + 1;
    const cause = error instanceof ServiceError ? error : null;
    const status = statusAfter(cause);
    const delay = this.#delayAfter(cause);
    // If the stream for a changed set of subscribers fails to open, the old stream continues.
    if (stream !== this.#asking || this.#stream === null || status !== "stale") {
      this.#stop();
      this.#report(status === "stale" && !isOnline() ? "offline" : status, cause);
    }
    if (delay === Infinity) {
      // The next attempt waits for a call of `wake`, for instance after a sign-in.
      for (const member of this.#members.values()) member.notBefore = delay;
      return;
    }
    this.#pausedUntil = now() + delay;
    this.#limitedUntil = status === "limited" ? this.#pausedUntil : 0;
    // The time of a scheduled opening is outdated now.
    this.#opensAt = Infinity;
    this.#openAt(0);
  }

  #report(status: LiveStatus, error: ServiceError | null): void {
    for (const { notBefore, subscriber } of this.#members.values()) {
      // A subscription that waits after its refusal keeps its status and error.
      if (notBefore <= this.#page.now()) subscriber.receive({ type: "status", status, error });
    }
  }
}

interface Member {
  readonly subscriber: Subscriber;
  /** The earliest time of the next request for the subscription. `Infinity` waits for `wake`. */
  notBefore: number;
}

const maxSubscriptions = 50;
/** Delay before a stream is opened, in ms, so that it includes lists that are opened soon after. */
const quietMs = 50;
const longLifeMs = 5_000;
const hiddenMs = 300_000;

function statusAfter(error: ServiceError | null): LiveStatus {
  if (error?.status === 429) return "limited";
  // Without a problem document, `status` is NaN. `NaN < 500` is false, so the result is `stale`.
  // After a refusal with `retryAfter`, e.g. of an expensive query, the client tries again.
  const status = Number(error?.problem?.status);
  if (status === 401) return "needs-auth";
  return status < 500 && status !== 408 && !error?.retryAfterMs ? "closed" : "stale";
}

/** Returns the connection that all live lists and collections of a client share. */
export function connectionOf(transport: Transport): LiveConnection {
  const { parts } = transport;
  // The cast is safe: only this file and `tabs/` set this member, always with this type.
  const known = parts.get(connectionOf) as LiveConnection | undefined;
  const connection = known ?? new DirectConnection(transport);
  parts.set(connectionOf, connection);
  return connection;
}
