import { handle, type HasHandle } from "../request/handle.ts";
import { connectionOf, createLiveConnection } from "../live/live_connection.ts";
import type { LiveConnection, LiveMessage, Subscriber } from "../live/live_messages.ts";
import type { TabMessage } from "./tab_messages.ts";
import { createTabSubscriptions } from "./tab_subscriptions.ts";

/** Which tabs share a stream. */
export interface ShareTabsOptions {
  /** Of the user, whose rights the stream has: tabs of different users share nothing. */
  readonly identity: string;
}

/**
 * Lets the tabs of an origin share the streams of one of them, which holds a Web Lock, by a
 * BroadcastChannel. It hands over when it is hidden and another one is not. Call it before the first
 * live list; what it returns ends it. Without locks or channels, as in Node, it does nothing.
 */
export function shareTabs(api: HasHandle, { identity }: ShareTabsOptions): () => void {
  const { transport } = api[handle];
  const { environment, baseUrl } = transport;
  const { locks, uuid, isHidden } = environment;
  const name = `resource-api ${baseUrl} ${identity}`;
  const channel = environment.channel(name);
  if (locks === null || channel === null) return () => {};

  const tab = uuid();
  const own = new Map<string, OwnSubscription>();
  const direct = createLiveConnection(transport);
  const others = createTabSubscriptions(direct, { locks, name, send });
  const ending = new AbortController();
  let lastKey = 0;
  /** The tab that has the streams, as far as this one knows. */
  let leader: string | null = null;
  /** Gives the lock back; null in every other tab. */
  let stepDown: (() => void) | null = null;

  function send(message: TabMessage): void {
    channel?.postMessage(message);
  }

  function ask(key: string, { subscriber, asked }: OwnSubscription): void {
    send({ kind: "add", tab, key, path: subscriber.path, token: subscriber.token(), asked });
  }

  function lead(): Promise<void> {
    leader = tab;
    for (const one of own.values()) one.leave = direct.add(one.subscriber);
    send({ kind: "leader", tab });
    return new Promise<void>((resolve) => {
      stepDown = () => {
        stepDown = leader = null;
        for (const one of own.values()) one.leave();
        others.clear();
        resolve();
      };
      if (isHidden()) send({ kind: "hidden", tab });
    });
  }

  /** Waits for its turn, and again after it has handed over. */
  async function stand(): Promise<void> {
    try {
      while (!ending.signal.aborted) await locks?.request(name, { signal: ending.signal }, lead);
    } catch (error) {
      if (!ending.signal.aborted) throw error;
    }
  }

  function receive(message: TabMessage): void {
    switch (message.kind) {
      case "leader":
        if (stepDown !== null) return;
        leader = message.tab;
        return own.forEach((one, key) => ask(key, one));
      case "hello":
        if (stepDown !== null) send({ kind: "leader", tab });
        return;
      case "hidden":
        if (!isHidden()) send({ kind: "visible", tab });
        return;
      case "visible":
        direct.wake();
        if (isHidden()) stepDown?.();
        return;
      case "event": {
        const one = message.from === leader && message.tab === tab ? own.get(message.key) : null;
        return one?.subscriber.receive(withAge(message.message, message.asked < one.asked));
      }
      default:
        if (stepDown !== null) others.receive(message, tab);
    }
  }

  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => receive(data);
  const stopWaking = environment.onWake(() => {
    if (!isHidden()) send({ kind: "visible", tab });
    else if (stepDown !== null) send({ kind: "hidden", tab });
  });
  // Held as long as this tab lives, so that the leader notices its end; first of all, because the
  // leader waits for it as soon as it knows the tab.
  void locks.request(`${name} ${tab}`, {}, () => {
    void stand();
    send({ kind: "hello", tab });
    return new Promise<void>((resolve) => ending.signal.addEventListener("abort", () => resolve()));
  });

  const shared: LiveConnection = {
    add(subscriber) {
      const key = String(lastKey++);
      const one: OwnSubscription = { subscriber, asked: 0, leave: () => {} };
      own.set(key, one);
      if (stepDown !== null) one.leave = direct.add(subscriber);
      else if (leader !== null) ask(key, one);
      return () => {
        own.delete(key);
        one.leave();
        if (stepDown === null) send({ kind: "remove", tab, key });
      };
    },
    reopen() {
      if (stepDown !== null) return direct.reopen();
      own.forEach((one, key) => {
        one.asked++;
        ask(key, one);
      });
    },
    wake: () => stepDown === null ? send({ kind: "visible", tab }) : direct.wake(),
  };
  transport.parts.set(connectionOf, shared);

  return () => {
    transport.parts.delete(connectionOf);
    stopWaking();
    ending.abort();
    stepDown?.();
    channel.close();
  };
}

interface OwnSubscription {
  readonly subscriber: Subscriber;
  /** How often this tab has asked for a new stream. */
  asked: number;
  leave(): void;
}

/** A stream that was asked for before this tab asked says nothing about what came in between. */
function withAge(message: LiveMessage, isOld: boolean): LiveMessage {
  return message.type === "opened" && isOld ? { ...message, isOld } : message;
}
