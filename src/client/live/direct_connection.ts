import { pageEnvironmentOf } from "../environment.ts";
import type { PageEnvironment } from "../../api/client_environment.ts";
import { errorOfProblem, ServiceError } from "../request/service_error.ts";
import type { LiveConnection, LiveStatus, StreamEventData, Subscriber } from "./live_messages.ts";
import { type EventFields, maxSilenceMs, readStream } from "./live_stream.ts";
import { openListsOf } from "./open_lists.ts";
import type { Transport } from "../../api/transport.ts";

/** Shares one stream among subscribers. If they change, a new stream continues at their tokens. */
export class DirectConnection implements LiveConnection {
  readonly #transport: Transport;
  readonly #page: PageEnvironment;
  /** Each subscriber's next request is not before this time. `Infinity` waits for `reconnect`. */
  readonly #members = new Map<Subscriber, number>();
  #overflow: DirectConnection | undefined;
  #stream: AbortController | null = null;
  #asking: AbortController | null = null;
  /** Time of the last data from the stream; 0 without an open stream. */
  #heardAt = 0;
  /** Number of consecutive streams that failed or ended within a few seconds. */
  #failures = 0;
  /** Minimum delay before the next stream, in milliseconds. The service can change it. */
  #retryMs = 1_000;
  #pausedUntil = 0;
  /** The end of a pause that the service requested. Waking the page does not end this pause. */
  #limitedUntil = 0;
  #opensAt = Infinity;
  #cancelOpening = () => {};
  #stopWaking = () => {};

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#page = pageEnvironmentOf(transport);
  }

  add(subscriber: Subscriber): () => void {
    const { now, isHidden, onWake } = this.#page;
    const members = this.#members;
    if (members.size === maxSubscriptions) {
      return (this.#overflow ??= new DirectConnection(this.#transport)).add(subscriber);
    }
    members.set(subscriber, 0);
    this.#stopWaking();
    this.#stopWaking = onWake(() => {
      if (now() - this.#heardAt < maxSilenceMs / 2 || isHidden()) return;
      this.#pausedUntil = this.#limitedUntil;
      this.#openAt(0);
    });
    this.#openAt(members.size > 1 ? now() + quietMs : 0);
    return () => {
      members.delete(subscriber);
      if (members.size) return this.#openAt(now() + quietMs);
      // Waits for a microtask: frameworks often unsubscribe and immediately subscribe again.
      queueMicrotask(() => {
        if (!members.size) void this.#open();
      });
    };
  }

  reopen(isWaking?: boolean): void {
    if (isWaking) {
      for (const [member, notBefore] of this.#members) {
        if (notBefore === Infinity) this.#members.set(member, 0);
      }
      this.#pausedUntil = this.#limitedUntil;
    }
    this.#openAt(0);
    this.#overflow?.reopen(isWaking);
  }

  #openAt(wanted: number): void {
    const { now, after } = this.#page;
    const at = Math.max(wanted, this.#pausedUntil, now());
    if (at >= this.#opensAt) return;
    this.#cancelOpening();
    this.#opensAt = at;
    this.#cancelOpening = after(at - now(), () => void this.#open());
  }

  #stop(status: LiveStatus = "stale", error?: ServiceError): void {
    this.#stream?.abort();
    this.#asking?.abort();
    this.#stream = this.#asking = null;
    this.#heardAt = 0;
    for (const [member, notBefore] of this.#members) {
      // A subscriber that was refused waits, and keeps the status and the error of its refusal.
      if (notBefore <= this.#page.now()) {
        member.receive({ type: "status", status, error: error ?? null });
      }
    }
  }

  async #open(): Promise<void> {
    const { now, isHidden, isOnline } = this.#page;
    const members = this.#members;
    this.#cancelOpening();
    this.#opensAt = Infinity;
    this.#asking?.abort();
    const asking: Subscriber[] = [];
    for (const [member, notBefore] of members) {
      if (notBefore > now()) this.#openAt(notBefore);
      else asking.push(member);
    }
    if (!members.size) this.#stopWaking();
    if (asking.length === 0) return this.#stop();
    const own = this.#asking = new AbortController();
    const asked = ++openListsOf(this.#transport).asked;
    let openedAt = Infinity;
    let seenAt = 0;
    let current: Subscriber | undefined;
    let error: ServiceError | undefined;
    try {
      for await (const blocks of readStream(this.#transport, asking, own)) {
        if (this.#asking === own) {
          this.#stream?.abort();
          this.#stream = own;
          this.#asking = null;
          openedAt = seenAt = now();
        }
        this.#heardAt = now();
        if (!isHidden()) seenAt = now();
        if (now() - seenAt >= hiddenMs) this.#stop();
        for (const block of blocks) {
          own.signal.throwIfAborted();
          current = this.#take(block, current, asking, asked);
        }
      }
    } catch (cause) {
      if (cause instanceof ServiceError) error = cause;
    }
    const isAsking = this.#asking === own;
    if (this.#stream !== own && !isAsking) return;
    // If each list of the stream has been refused or ended, the end of the stream is no failure.
    if (!isAsking && !asking.some((member) => members.get(member)! < now())) {
      this.#stream = null;
      return;
    }
    this.#failures = now() - openedAt > longLifeMs ? 0 : this.#failures + 1;
    const [status, delay] = this.#after(error);
    // If a new stream for changed subscribers fails to open, the old stream continues.
    if (!isAsking || this.#stream === null || status !== "stale") {
      this.#stop(status === "stale" && !isOnline() ? "offline" : status, error);
    }
    if (delay === Infinity) {
      // The next attempt waits for a call of `reconnect`, for instance after a sign-in.
      for (const member of members.keys()) members.set(member, delay);
      return;
    }
    this.#pausedUntil = now() + delay;
    this.#limitedUntil = status === "limited" ? this.#pausedUntil : 0;
    this.#opensAt = Infinity;
    this.#openAt(0);
  }

  /** Passes an event to its subscriber. Returns the subscriber of the events that follow. */
  #take(
    { data, id, retry }: EventFields,
    current: Subscriber | undefined,
    asking: readonly Subscriber[],
    asked: number,
  ): Subscriber | undefined {
    if (retry) this.#retryMs = +retry;
    if (!data && !id) return current;
    // The cast is safe: only the service writes these streams.
    const message = (data ? JSON.parse(data) : { type: "token", token: id }) as StreamEventData;
    const member = "key" in message ? asking[+message.key] : current;
    if (member && this.#members.has(member)) {
      if (message.type === "subscription") {
        if (message.types) member.receive({ type: "opened", description: message, asked });
      } else if (message.type === "ended") this.#postpone(member);
      else if (message.type === "refused") {
        const { status, problem, retryAfter } = message;
        // Without a delay from the service, the product is NaN or 0, which becomes null.
        const facts = { status, retryAfterMs: retryAfter! * 1_000 || null };
        this.#postpone(member, errorOfProblem(problem, facts));
      } else member.receive(message);
    }
    return message.type === "subscription" ? member : current;
  }

  #postpone(member: Subscriber, error?: ServiceError): void {
    const [status, delay] = this.#after(error);
    const notBefore = this.#page.now() + delay;
    this.#members.set(member, notBefore);
    this.#openAt(notBefore);
    member.receive({ type: "status", status, error: error ?? null });
  }

  /** Returns the status after an error, and the delay of the next attempt in milliseconds. */
  #after(error?: ServiceError): readonly [LiveStatus, delay: number] {
    const isLimit = error?.status === 429;
    // Without a problem document, `code` is undefined, and `undefined < 500` is false.
    const code = error?.problem?.status;
    // A refusal with a `retryAfter`, for instance of an expensive query, is temporary.
    if (code! < 500 && code !== 408 && !isLimit && !error?.retryAfterMs) {
      return [code === 401 ? "needs-auth" : "closed", Infinity];
    }
    const jitter = this.#page.random() * Math.min(30_000, 1_000 * 2 ** this.#failures);
    const delay = Math.max(error?.retryAfterMs ?? 0, this.#retryMs, jitter);
    return [isLimit ? "limited" : "stale", delay];
  }
}

const maxSubscriptions = 50;
/** Delay before a stream opens, in ms. Lists that are opened in this time share the stream. */
const quietMs = 50;
const longLifeMs = 5_000;
const hiddenMs = 300_000;

export function connectionOf(transport: Transport): LiveConnection {
  return openListsOf(transport).connection ??= new DirectConnection(transport);
}
