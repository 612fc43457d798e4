import { DirectConnection } from "../live/direct_connection.ts";
import type { LiveConnection, Subscriber } from "../live/live_messages.ts";
import { ServiceError } from "../request/service_error.ts";
import type { Transport } from "../request/transport.ts";
import type { WebLocks } from "../web_platform.ts";
import type { TabMessage } from "./tab_messages.ts";
import { TabSubscriptions } from "./tab_subscriptions.ts";

/** What the tabs of a user have in common. */
export interface SharedByTabs {
  /** Of the lock of the tab that has the streams. */
  readonly name: string;
  readonly locks: WebLocks;
  readonly channel: BroadcastChannel;
}

/** The connection of a tab that shares the streams of one tab with all others. */
export class TabConnection implements LiveConnection {
  readonly #transport: Transport;
  readonly #shared: SharedByTabs;
  readonly #tab: string;
  readonly #own = new Map<string, OwnSubscription>();
  readonly #direct: DirectConnection;
  readonly #others: TabSubscriptions;
  readonly #ending = new AbortController();
  readonly #stopWaking: () => void;
  #lastKey = 0;
  /** The tab that has the streams, as far as this one knows. */
  #leader: string | null = null;
  /** Gives the lock back; null in every other tab. */
  #stepDown: (() => void) | null = null;

  /** Begins to wait for the lock, and to ask the tab that has it. */
  constructor(transport: Transport, shared: SharedByTabs) {
    const { environment } = transport;
    const { name, locks, channel } = this.#shared = shared;
    const tab = this.#tab = environment.uuid();
    this.#transport = transport;
    this.#direct = new DirectConnection(transport);
    this.#others = new TabSubscriptions(this.#direct, {
      isAlive: (other, ended) => void locks.request(`${name} ${other}`, {}, ended),
      send: (message) => this.#send(message),
    });
    channel.onmessage = ({ data }: MessageEvent<TabMessage>) => this.#receive(data);
    this.#stopWaking = environment.onWake(() => {
      if (!environment.isHidden()) this.#send({ kind: "visible", tab });
      else if (this.#stepDown !== null) this.#send({ kind: "hidden", tab });
    });
    // Held as long as this tab lives, so that the leader notices its end; first of all, because the
    // leader waits for it as soon as it knows the tab.
    void locks.request(`${name} ${tab}`, {}, () => {
      void this.#stand();
      this.#send({ kind: "hello", tab });
      return new Promise<void>((end) => this.#ending.signal.addEventListener("abort", () => end()));
      // A page that may not have locks has streams of its own.
    }).catch(() => this.#lead());
  }

  add(subscriber: Subscriber): () => void {
    const tab = this.#tab;
    const key = String(this.#lastKey++);
    const one: OwnSubscription = { subscriber, asked: 0, leave: () => {} };
    this.#own.set(key, one);
    if (this.#stepDown !== null) one.leave = this.#direct.add(subscriber);
    else if (this.#leader !== null) this.#ask(key, one);
    return () => {
      this.#own.delete(key);
      one.leave();
      if (this.#stepDown === null) this.#send({ kind: "remove", tab, key });
    };
  }

  reopen(): void {
    if (this.#stepDown !== null) return this.#direct.reopen();
    for (const [key, one] of this.#own) {
      one.asked++;
      this.#ask(key, one);
    }
  }

  wake(): void {
    this.#direct.wake();
    this.#send({ kind: "visible", tab: this.#tab });
  }

  /** Ends the part of this tab; another one continues. */
  close(): void {
    this.#stopWaking();
    this.#ending.abort();
    this.#stepDown?.();
    this.#shared.channel.close();
  }

  #send(message: TabMessage): void {
    if (!this.#ending.signal.aborted) this.#shared.channel.postMessage(message);
  }

  #ask(key: string, { subscriber, asked }: OwnSubscription): void {
    const { path } = subscriber;
    this.#send({ kind: "add", tab: this.#tab, key, path, token: subscriber.token(), asked });
  }

  /** Waits for its turn, and again after it has handed over. */
  async #stand(): Promise<void> {
    const { name, locks } = this.#shared;
    const { signal } = this.#ending;
    try {
      while (!signal.aborted) await locks.request(name, { signal }, () => this.#lead());
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #lead(): Promise<void> {
    const tab = this.#leader = this.#tab;
    for (const one of this.#own.values()) one.leave = this.#direct.add(one.subscriber);
    return new Promise((resolve) => {
      this.#stepDown = () => {
        this.#stepDown = this.#leader = null;
        for (const one of this.#own.values()) one.leave();
        this.#others.clear();
        resolve();
      };
      this.#send({ kind: "leader", tab });
      if (this.#transport.environment.isHidden()) this.#send({ kind: "hidden", tab });
    });
  }

  #receive(message: TabMessage): void {
    const tab = this.#tab;
    const { isHidden } = this.#transport.environment;
    const isLeader = this.#stepDown !== null;
    if (message.kind === "event") {
      if (message.from === this.#leader && message.tab === tab) this.#deliver(message);
    } else if (message.kind === "leader") {
      if (isLeader) return;
      this.#leader = message.tab;
      for (const [key, one] of this.#own) this.#ask(key, one);
    } else if (message.kind === "hidden") {
      if (!isHidden()) this.#send({ kind: "visible", tab });
    } else if (!isLeader) return;
    else if (message.kind === "hello") this.#send({ kind: "leader", tab });
    else if (message.kind === "visible") {
      this.#direct.wake();
      if (isHidden()) this.#stepDown?.();
    } else this.#others.receive(message, tab);
  }

  /** A stream that was asked for before this tab asked says nothing of what came in between. */
  #deliver({ key, asked, message }: TabMessage & { readonly kind: "event" }): void {
    const one = this.#own.get(key);
    if (one === undefined) return;
    const isOld = asked < one.asked;
    if (message.type === "status" && message.error !== null) {
      const { error } = message;
      one.subscriber.receive({
        ...message,
        error: new ServiceError(error.slug, error.message, error),
      });
    } else {one.subscriber.receive(
        message.type === "opened" && isOld ? { ...message, isOld } : message,
      );}
  }
}

interface OwnSubscription {
  readonly subscriber: Subscriber;
  /** How often this tab has asked for a new stream. */
  asked: number;
  leave(): void;
}
