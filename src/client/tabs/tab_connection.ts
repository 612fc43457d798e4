import { abortOf } from "../abort_of.ts";
import { DirectConnection } from "../live/direct_connection.ts";
import type { LiveConnection, Subscriber } from "../live/live_messages.ts";
import { openListsOf } from "../live/open_lists.ts";
import { ServiceError } from "../request/service_error.ts";
import type { WebLocks } from "../../api/web_platform.ts";
import type { FollowRequest, TabMessage } from "./tab_messages.ts";
import type { Transport } from "../../api/transport.ts";

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
  /** What ends the subscriptions of other tabs, in the tab that has the streams. */
  readonly #others = new Map<string, () => void>();
  readonly #ending = new AbortController();
  readonly #stopWaking: () => void;
  #lastKey = 0;
  /** True if others would notice the end of this tab. */
  #isAlive = false;
  /** Returns the lock back; null in every other tab. */
  #stepDown: (() => void) | null = null;

  /** Begins to wait for the lock, and to ask the tab that has it. */
  constructor(transport: Transport, shared: SharedByTabs) {
    const { environment } = transport;
    const { name, locks, channel } = this.#shared = shared;
    this.#transport = transport;
    this.#tab = environment.uuid();
    this.#direct = new DirectConnection(transport);
    channel.onmessage = ({ data }: MessageEvent<TabMessage>) => this.#receive(data);
    this.#stopWaking = environment.onWake(() => this.#sayWhetherHidden());
    // Held as long as this tab lives, so that the leader notices its end; first of all, because the
    // leader waits for it as soon as it knows the tab.
    void locks.request(`${name} ${this.#tab}`, {}, () => {
      this.#isAlive = true;
      this.#followAll();
      void this.#stand();
      return abortOf(this.#ending.signal);
      // A page that may not have locks has streams of its own.
    }).catch(() => this.#lead());
  }

  add(subscriber: Subscriber): () => void {
    const key = String(this.#lastKey++);
    const one: OwnSubscription = { subscriber, asked: 0, leave() {} };
    this.#own.set(key, one);
    this.#follow(key, one);
    return () => {
      this.#own.delete(key);
      one.leave();
      this.#send({ kind: "remove", tab: this.#tab, key });
    };
  }

  reopen(): void {
    if (this.#stepDown !== null) this.#direct.reopen();
    else this.#followAll();
  }

  wake(): void {
    this.#direct.wake();
    this.#send({ kind: "wake" });
  }

  /** Ends the part of this tab; another one continues. */
  close(): void {
    this.#stopWaking();
    this.#ending.abort();
    this.#stepDown?.();
    this.#shared.channel.close();
  }

  #send(message: TabMessage): void {
    if (this.#isAlive && !this.#ending.signal.aborted) this.#shared.channel.postMessage(message);
  }

  #sayWhetherHidden(): void {
    this.#send({ kind: this.#transport.environment.isHidden() ? "hidden" : "visible" });
  }

  #followAll(): void {
    for (const [key, one] of this.#own) this.#follow(key, one);
  }

  /** By a stream of this tab, or by that of another one, which answers once there is one. */
  #follow(key: string, one: OwnSubscription): void {
    const { subscriber } = one;
    if (this.#stepDown !== null) {
      one.asked = 0;
      one.leave = this.#direct.add(subscriber);
      return;
    }
    const asked = one.asked = ++openListsOf(this.#transport).asked;
    const { path } = subscriber;
    this.#send({ kind: "add", tab: this.#tab, key, path, token: subscriber.token(), asked });
  }

  /** Waits for its turn, and again after it has handed over. */
  async #stand(): Promise<void> {
    const { name, locks } = this.#shared;
    const { signal } = this.#ending;
    try {
      // The lock may come after the end.
      const lead = () => signal.aborted ? undefined : this.#lead();
      while (!signal.aborted) await locks.request(name, { signal }, lead);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #lead(): Promise<void> {
    return new Promise((resolve) => {
      this.#stepDown = () => {
        this.#stepDown = null;
        for (const one of this.#own.values()) one.leave();
        for (const end of this.#others.values()) end();
        this.#others.clear();
        resolve();
      };
      this.#followAll();
      this.#send({ kind: "leader" });
      this.#sayWhetherHidden();
    });
  }

  #receive(message: TabMessage): void {
    const { isHidden } = this.#transport.environment;
    if (message.kind === "hidden") {
      if (!isHidden()) this.#send({ kind: "visible" });
    } else if (this.#stepDown === null) {
      if (message.kind === "leader") this.#followAll();
      else if (message.kind === "event" && message.tab === this.#tab) this.#deliver(message);
    } else if (message.kind === "wake") this.#direct.wake();
    else if (message.kind === "visible") {
      if (isHidden()) this.#stepDown();
    } else if (message.kind === "add" || message.kind === "remove") {
      const { tab, key } = message;
      this.#others.get(tab + key)?.();
      this.#others.delete(tab + key);
      if (message.kind === "add") this.#others.set(tab + key, this.#serve(message));
    }
  }

  /** What answers to an earlier request is older than the token of the last one. */
  #deliver({ key, asked, message }: TabMessage & { readonly kind: "event" }): void {
    const one = this.#own.get(key);
    if (one?.asked !== asked) return;
    let known = message;
    // The streams are counted as this tab has asked for them.
    if (message.type === "opened") known = { ...message, asked };
    else if (message.type === "status" && message.error !== null) {
      const { slug, message: text } = message.error;
      known = { ...message, error: new ServiceError(slug, text, message.error) };
    }
    one.subscriber.receive(known);
  }

  /** Follows something for another tab, until that ends; returns what ends it before. */
  #serve({ tab, key, path, token, asked }: FollowRequest): () => void {
    const { name, locks } = this.#shared;
    const ending = new AbortController();
    const leave = this.#direct.add({
      path,
      token: () => token,
      receive: (message) => {
        if (message.type === "token") token = message.token;
        else if (message.type === "invalidate") token = null;
        // Of an error, a channel passes nothing but the message.
        const known = message.type === "status" && message.error !== null
          ? { ...message, error: { ...message.error, message: message.error.message } }
          : message;
        this.#send({ kind: "event", tab, key, asked, message: known });
      },
    });
    const end = () => {
      leave();
      ending.abort();
    };
    locks.request(`${name} ${tab}`, { signal: ending.signal }, end).catch((error) => {
      if (!ending.signal.aborted) throw error;
    });
    return end;
  }
}

interface OwnSubscription {
  readonly subscriber: Subscriber;
  /** The number of the last request for it; 0 while this tab has the streams. */
  asked: number;
  leave(): void;
}
