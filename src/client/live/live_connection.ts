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

/** The connection that the live lists and aggregates of a client share: made once. */
export function connectionOf(transport: Transport): LiveConnection {
  const { parts } = transport;
  // The map gives each key the type that its writers, here and in `tabs/`, have put there.
  const known = parts.get(connectionOf) as LiveConnection | undefined;
  const connection = known ?? createLiveConnection(transport);
  parts.set(connectionOf, connection);
  return connection;
}

/**
 * A connection without subscribers: one stream of `POST /__service/live`, opened again whenever it
 * ends. A set that changes is opened beside the old stream, after which that one is closed: the
 * tokens of the subscribers say where each continues.
 */
export function createLiveConnection(transport: Transport): LiveConnection {
  const { now, after, random, isOnline, isHidden, onWake } = transport.environment;
  const members = new Map<string, Member>();
  /** For what is beyond the subscriptions that one stream takes. */
  let overflow: LiveConnection | null = null;
  let lastKey = 0;
  let stream: AbortController | null = null;
  let asking: AbortController | null = null;
  let openedAt = 0;
  let heardAt = 0;
  let seenAt = 0;
  /** Streams in a row that failed, or ended within seconds. */
  let failures = 0;
  /** What the service asked for last: the shortest time before another stream. */
  let retryMs = 1_000;
  /** No stream is opened before; where `isLimited`, no sign of life of the page shortens it. */
  let pausedUntil = 0;
  let isLimited = false;
  let opensAt = Infinity;
  let cancelOpening = () => {};
  let cancelWatch = () => {};
  let stopWaking = () => {};

  function tell(status: LiveStatus, error: ServiceError | null = null): void {
    for (const { notBefore, subscriber } of members.values()) {
      if (notBefore < Infinity) subscriber.receive({ type: "status", status, error });
    }
  }

  function stop(): void {
    cancelWatch();
    stream?.abort();
    asking?.abort();
    stream = asking = null;
  }

  /** Opens a stream at a moment, unless that happens earlier already. */
  function openAt(wanted: number): void {
    const at = Math.max(wanted, pausedUntil);
    if (at >= opensAt) return;
    cancelOpening();
    opensAt = at;
    cancelOpening = after(at - now(), open);
  }

  async function open(): Promise<void> {
    opensAt = Infinity;
    asking?.abort();
    const own = asking = new AbortController();
    const subscriptions: unknown[] = [];
    for (const [key, { notBefore, subscriber }] of members) {
      if (notBefore > now()) openAt(notBefore);
      else {
        const resumeFrom = subscriber.token() ?? undefined;
        subscriptions.push({ key, path: subscriber.path, resumeFrom });
      }
    }
    if (subscriptions.length === 0) return stop();
    const cancelAsking = after(silentMs, () => own.abort());
    try {
      const response = await transport.send({
        ...{ method: "POST", path: "/__service/live", body: { subscriptions } },
        ...{ headers: { accept: "text/event-stream" }, signal: own.signal, timeoutMs: 0 },
      });
      const { body, headers } = response;
      if (asking !== own) return own.abort();
      // The page of a proxy, for instance, whatever its status.
      if (!headers.get("content-type")?.startsWith("text/event-stream") || body === null) {
        throw unexpectedAnswer(response);
      }
      cancelAsking();
      stream?.abort();
      stream = own;
      asking = null;
      openedAt = heardAt = seenAt = now();
      watch();
      await readEvents(body, createReader(), () => heardAt = now());
      if (stream === own) ended();
    } catch (error) {
      if (stream === own || asking === own) ended(error);
    } finally {
      cancelAsking();
    }
  }

  /** Takes the blocks of one stream to their subscribers. */
  function createReader(): Parameters<typeof readEvents>[1] {
    let key = "";
    return (data, id, retry) => {
      if (retry !== null) retryMs = retry;
      const subscriber = members.get(key)?.subscriber;
      if (id) subscriber?.receive({ type: "token", token: id });
      if (data === "") return;
      // The service is the only writer of these streams.
      const message = JSON.parse(data) as SetMessage;
      if (message.type === "subscription") {
        key = message.key;
        const { primaryKey, types } = message;
        if (!primaryKey || !types) return;
        members.get(key)?.subscriber.receive({ type: "opened", primaryKey, types });
      } else if (message.type === "refused") {
        void refuse(message);
      } else if (message.type === "ended") postpone(message.key, retryMs);
      else subscriber?.receive(message);
    };
  }

  async function refuse({ key, status, problem, retryAfter }: RefusedSubscription): Promise<void> {
    const headers = new Headers(retryAfter ? { "retry-after": String(retryAfter) } : {});
    const error = await answerError(Response.json(problem, { status, headers }), now());
    const next = statusAfter(error);
    members.get(key)?.subscriber.receive({ type: "status", status: next, error });
    postpone(key, waits(next) ? error.retryAfterMs ?? backoff() : Infinity);
  }

  function postpone(key: string, delayMs: number): void {
    const member = members.get(key);
    if (member === undefined) return;
    member.notBefore = now() + delayMs;
    openAt(member.notBefore);
  }

  /** Full jitter over a doubling time, above what the service asked for. */
  function backoff(): number {
    return Math.max(retryMs, random() * Math.min(30_000, 1_000 * 2 ** failures));
  }

  /** The stream has ended, or could not be opened. */
  function ended(error?: unknown): void {
    failures = stream !== null && now() - openedAt > longLifeMs ? 0 : failures + 1;
    stop();
    const cause = error instanceof ServiceError ? error : null;
    const status = cause === null ? "stale" : statusAfter(cause);
    isLimited = status === "limited";
    tell(status === "stale" && !isOnline() ? "offline" : status, cause);
    if (members.size === 0) return;
    if (!waits(status)) {
      // Nothing is asked for again; after a sign-in `wake` does.
      for (const member of members.values()) member.notBefore = Infinity;
      return;
    }
    pausedUntil = now() + Math.max(cause?.retryAfterMs ?? 0, isLimited ? 0 : backoff());
    cancelOpening();
    opensAt = Infinity;
    openAt(0);
  }

  /** Ends a stream without a sign of life, and that of a page which is not looked at for minutes. */
  function watch(): void {
    cancelWatch();
    cancelWatch = after(5_000, () => {
      if (!isHidden()) seenAt = now();
      if (now() - heardAt > silentMs) ended();
      else if (now() - seenAt > hiddenMs) {
        stop();
        tell("stale");
      } else watch();
    });
  }

  function wake(): void {
    const isHeard = stream !== null && now() - heardAt < silentMs / 2;
    if (isHeard || isHidden() || (isLimited && now() < pausedUntil)) return;
    pausedUntil = 0;
    openAt(0);
  }

  return {
    add(subscriber) {
      if (members.size === maxSubscriptions) {
        return (overflow ??= createLiveConnection(transport)).add(subscriber);
      }
      const key = String(lastKey++);
      if (members.size === 0) stopWaking = onWake(wake);
      members.set(key, { subscriber, notBefore: 0 });
      openAt(now() + (stream ?? asking ? settleMs : 0));
      return () => {
        members.delete(key);
        if (members.size === 0) stopWaking();
        openAt(now() + settleMs);
      };
    },
    reopen() {
      openAt(0);
      overflow?.reopen();
    },
    wake() {
      for (const member of members.values()) {
        if (member.notBefore < Infinity) continue;
        member.notBefore = 0;
        openAt(0);
      }
      wake();
      overflow?.wake();
    },
  };
}

interface Member {
  readonly subscriber: Subscriber;
  /** Not asked for before this moment; `Infinity` once it was refused for good. */
  notBefore: number;
}

const maxSubscriptions = 50;
/** Until the lists that a page shows together are all there. */
const settleMs = 50;
const longLifeMs = 5_000;
/** Three heartbeats. */
const silentMs = 45_000;
const hiddenMs = 5 * 60_000;

function statusAfter({ status }: ServiceError): LiveStatus {
  if (status === 401) return "needs-auth";
  if (status === 429) return "limited";
  return status >= 400 && status < 500 && status !== 408 ? "closed" : "stale";
}

/** Whether a stream that was refused is asked for again. */
function waits(status: LiveStatus): boolean {
  return status === "stale" || status === "limited";
}
