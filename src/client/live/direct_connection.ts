import { answerError, ServiceError, unexpectedAnswer } from "../request/service_error.ts";
import type { Transport } from "../request/transport.ts";
import { readEvents } from "./event_reader.ts";
import type {
  LiveConnection,
  LiveStatus,
  RefusedSubscription,
  SetMessage,
  Subscriber,
} from "./live_messages.ts";

/**
 * A connection of one stream of `POST /__service/live`, opened again whenever it ends. A set that
 * changes is opened beside the old stream, after which that one is closed: the tokens of the
 * subscribers say where each continues.
 */
export class DirectConnection implements LiveConnection {
  readonly #transport: Transport;
  readonly #members = new Map<string, Member>();
  /** For what is beyond the subscriptions that one stream takes. */
  #overflow: DirectConnection | null = null;
  #lastKey = 0;
  #stream: AbortController | null = null;
  #asking: AbortController | null = null;
  #openedAt = 0;
  #heardAt = 0;
  #seenAt = 0;
  /** Streams in a row that failed, or ended within seconds. */
  #failures = 0;
  /** What the service asked for last: the shortest time before another stream. */
  #retryMs = 1_000;
  /** No stream is opened before; where it is a limit, no sign of life of the page shortens it. */
  #pausedUntil = 0;
  #isLimited = false;
  #opensAt = Infinity;
  #cancelOpening = () => {};
  #cancelWatch = () => {};
  #stopWaking = () => {};

  /** Begins without subscribers. */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  add(subscriber: Subscriber): () => void {
    const { environment: { now, onWake } } = this.#transport;
    const members = this.#members;
    if (members.size === maxSubscriptions) {
      return (this.#overflow ??= new DirectConnection(this.#transport)).add(subscriber);
    }
    const key = String(this.#lastKey++);
    this.#stopWaking();
    this.#stopWaking = onWake(() => this.#wake());
    members.set(key, { subscriber, notBefore: 0 });
    this.#openAt(now() + (this.#stream ?? this.#asking ? quietMs : 0));
    return () => {
      members.delete(key);
      if (members.size > 0) return this.#openAt(now() + quietMs);
      // A framework that renders again leaves and comes back at once.
      queueMicrotask(() => this.#closeUnused());
    };
  }

  #closeUnused(): void {
    if (this.#members.size > 0) return;
    this.#stopWaking();
    this.#cancelOpening();
    this.#opensAt = Infinity;
    this.#stop();
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

  #report(status: LiveStatus, error: ServiceError | null = null): void {
    for (const { notBefore, subscriber } of this.#members.values()) {
      if (notBefore < Infinity) subscriber.receive({ type: "status", status, error });
    }
  }

  #stop(): void {
    this.#cancelWatch();
    this.#stream?.abort();
    this.#asking?.abort();
    this.#stream = this.#asking = null;
  }

  /** Opens a stream at a moment, unless that happens earlier already. */
  #openAt(wanted: number): void {
    const { now, after } = this.#transport.environment;
    const at = Math.max(wanted, this.#pausedUntil);
    if (at >= this.#opensAt) return;
    this.#cancelOpening();
    this.#opensAt = at;
    this.#cancelOpening = after(at - now(), () => void this.#open());
  }

  async #open(): Promise<void> {
    const { environment: { now, after } } = this.#transport;
    this.#opensAt = Infinity;
    this.#asking?.abort();
    const own = this.#asking = new AbortController();
    const subscriptions = this.#subscriptions();
    if (subscriptions.length === 0) return this.#stop();
    const cancelAsking = after(silentMs, () => own.abort());
    try {
      const body = await this.#ask(subscriptions, own.signal);
      cancelAsking();
      if (this.#asking !== own) return await body.cancel();
      this.#stream?.abort();
      this.#stream = own;
      this.#asking = null;
      this.#openedAt = this.#heardAt = this.#seenAt = now();
      this.#watch();
      const read = this.#createReader(subscriptions);
      await readEvents(
        body,
        (...block) => {
          // A chunk of a stream that was aborted can still come, after the beginning of the next one.
          if (this.#stream === own) read(...block);
        },
        () => this.#heardAt = now(),
        own.signal,
      );
      if (this.#stream === own) this.#ended();
    } catch (error) {
      if (this.#stream === own) this.#ended(error);
      else if (this.#asking === own) this.#failed(error);
    } finally {
      cancelAsking();
    }
  }

  /** Those whose time has come, each from where it is. */
  #subscriptions(): readonly AskedSubscription[] {
    const { now } = this.#transport.environment;
    return [...this.#members].flatMap(([key, { notBefore, subscriber }]) => {
      if (notBefore > now()) {
        this.#openAt(notBefore);
        return [];
      }
      const resumeFrom = subscriber.token() ?? undefined;
      return [{ key, path: subscriber.path, resumeFrom }];
    });
  }

  async #ask(
    subscriptions: readonly AskedSubscription[],
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#transport.send({
      ...{ method: "POST", path: "/__service/live", body: { subscriptions } },
      ...{ headers: { accept: "text/event-stream" }, signal, timeoutMs: 0 },
    });
    const { body, headers } = response;
    // The page of a proxy, for instance, whatever its status.
    if (!headers.get("content-type")?.startsWith("text/event-stream") || body === null) {
      throw unexpectedAnswer(response);
    }
    return body;
  }

  /** Takes the blocks of one stream to their subscribers. */
  #createReader(asked: readonly AskedSubscription[]): Parameters<typeof readEvents>[1] {
    const subscriberAt = (key: string) => this.#members.get(key)?.subscriber;
    let current = "";
    return (data, id, retryMs) => {
      if (retryMs !== null) this.#retryMs = retryMs;
      if (id) subscriberAt(current)?.receive({ type: "token", token: id });
      if (data === "") return;
      // The service is the only writer of these streams.
      const message = JSON.parse(data) as SetMessage;
      if (message.type === "subscription") {
        const { key, primaryKey, types } = message;
        current = key;
        if (!primaryKey || !types) return;
        const isResumed = asked.some((one) => one.key === key && one.resumeFrom);
        subscriberAt(key)?.receive({ type: "opened", primaryKey, types, isResumed });
      } else if (message.type === "refused") void this.#refuse(message);
      else if (message.type === "ended") this.#postpone(message.key, this.#retryMs);
      else subscriberAt(current)?.receive(message);
    };
  }

  async #refuse({ key, status, problem, retryAfter }: RefusedSubscription): Promise<void> {
    const headers = new Headers(retryAfter ? { "retry-after": String(retryAfter) } : {});
    const answer = Response.json(problem, { status, headers });
    const error = await answerError(answer);
    const next = statusAfter(error);
    this.#members.get(key)?.subscriber.receive({ type: "status", status: next, error });
    this.#postpone(key, waits(next) ? error.retryAfterMs ?? this.#backoff() : Infinity);
  }

  #postpone(key: string, delayMs: number): void {
    const member = this.#members.get(key);
    if (member === undefined) return;
    member.notBefore = this.#transport.environment.now() + delayMs;
    this.#openAt(member.notBefore);
  }

  /** Full jitter over a doubling time, above what the service asked for. */
  #backoff(): number {
    const { random } = this.#transport.environment;
    return Math.max(this.#retryMs, random() * Math.min(30_000, 1_000 * 2 ** this.#failures));
  }

  /** A changed set that could not be opened leaves the old stream, where another try may succeed. */
  #failed(error: unknown): void {
    const { retryAfterMs, status } = error instanceof ServiceError ? error : silence;
    if (this.#stream === null || (status >= 400 && status < 500)) return this.#ended(error);
    this.#asking = null;
    this.#failures++;
    this.#pause(Math.max(retryAfterMs ?? 0, this.#backoff()));
  }

  /** The stream has ended, or could not be opened. */
  #ended(error?: unknown): void {
    const { now, isOnline } = this.#transport.environment;
    const hasLasted = this.#stream !== null && now() - this.#openedAt > longLifeMs;
    this.#failures = hasLasted ? 0 : this.#failures + 1;
    this.#stop();
    const cause = error instanceof ServiceError ? error : null;
    const status = cause === null ? "stale" : statusAfter(cause);
    this.#isLimited = status === "limited";
    this.#report(status === "stale" && !isOnline() ? "offline" : status, cause);
    if (this.#members.size === 0) return;
    if (!waits(status)) {
      // Nothing is asked for again; after a sign-in `wake` does.
      for (const member of this.#members.values()) member.notBefore = Infinity;
      return;
    }
    this.#pause(Math.max(cause?.retryAfterMs ?? 0, this.#isLimited ? 0 : this.#backoff()));
  }

  /** Opens a stream after a time, and not before, whatever was planned. */
  #pause(delayMs: number): void {
    this.#pausedUntil = this.#transport.environment.now() + delayMs;
    this.#cancelOpening();
    this.#opensAt = Infinity;
    this.#openAt(0);
  }

  /** Ends a stream without a sign of life, and that of a page that is not looked at for minutes. */
  #watch(): void {
    const { now, after, isHidden } = this.#transport.environment;
    this.#cancelWatch();
    this.#cancelWatch = after(lookMs, () => {
      if (!isHidden()) this.#seenAt = now();
      if (now() - this.#heardAt > silentMs) this.#ended();
      else if (now() - this.#seenAt > hiddenMs) {
        this.#stop();
        this.#report("stale");
      } else this.#watch();
    });
  }

  #wake(): void {
    const { now, isHidden } = this.#transport.environment;
    const isHeard = this.#stream !== null && now() - this.#heardAt < silentMs / 2;
    if (isHeard || isHidden() || (this.#isLimited && now() < this.#pausedUntil)) return;
    this.#pausedUntil = 0;
    this.#openAt(0);
  }
}

/** One item of the body of the request for a stream. */
interface AskedSubscription {
  readonly key: string;
  readonly path: string;
  readonly resumeFrom: string | undefined;
}

interface Member {
  readonly subscriber: Subscriber;
  /** Not asked for before this moment; `Infinity` once it was refused for good. */
  notBefore: number;
}

const maxSubscriptions = 50;
/** Until the lists that a page shows together are all there. */
const quietMs = 50;
const longLifeMs = 5_000;
const lookMs = 5_000;
/** Three heartbeats. */
const silentMs = 45_000;
const hiddenMs = 300_000;

/** Of a request that was given up without an answer. */
const silence = { retryAfterMs: null, status: 0 };

function statusAfter({ status }: ServiceError): LiveStatus {
  if (status === 401) return "needs-auth";
  if (status === 429) return "limited";
  return status >= 400 && status < 500 && status !== 408 ? "closed" : "stale";
}

/** Whether a stream that was refused is asked for again. */
function waits(status: LiveStatus): boolean {
  return status === "stale" || status === "limited";
}
