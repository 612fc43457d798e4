import { pageEnvironmentOf } from "../environment.ts";
import { whenAborted } from "../when_aborted.ts";
import { DirectConnection } from "../live/direct_connection.ts";
import type { LiveConnection, LiveMessage, Subscriber } from "../live/live_messages.ts";
import { openListsOf } from "../live/open_lists.ts";
import { ServiceError } from "../request/service_error.ts";
import type { WebLocks } from "../../api/web_platform.ts";
import type { Transport } from "../../api/transport.ts";

interface TabLockAndChannel {
  readonly name: string;
  readonly locks: WebLocks;
  readonly channel: BroadcastChannel;
}

export class TabConnection implements LiveConnection {
  readonly #transport: Transport;
  readonly #shared: TabLockAndChannel;
  readonly #tab: string;
  readonly #own = new Map<string, OwnSubscription>();
  readonly #direct: DirectConnection;
  readonly #others = new Map<string, () => void>();
  readonly #ending = new AbortController();
  readonly #stopWaking: () => void;
  readonly #isHidden: () => boolean;
  #lastKey = 0;
  /** True while this tab holds the lock with the tab's own name. */
  #isAlive = false;
  #stepDown: (() => void) | null = null;

  /** Sends subscriptions to the leading tab, until this tab gets the lock and leads. */
  constructor(transport: Transport, shared: TabLockAndChannel) {
    const environment = pageEnvironmentOf(transport);
    const { name, locks, channel } = this.#shared = shared;
    this.#transport = transport;
    this.#tab = environment.randomId();
    this.#direct = new DirectConnection(transport);
    channel.onmessage = ({ data }: MessageEvent<TabMessage>) => this.#receive(data);
    this.#isHidden = environment.isHidden;
    this.#stopWaking = environment.onWake(() => this.#sayWhetherHidden());
    // This tab holds the lock with its name until the tab ends. When the leader gets this lock, the
    // leader knows that the tab has ended. Therefore the tab sends no message before it holds the
    // lock.
    void locks.request(`${name} ${this.#tab}`, {}, () => {
      this.#isAlive = true;
      this.#followAll();
      void this.#stand();
      return whenAborted(this.#ending.signal);
      // A page that cannot use locks opens its own streams.
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

  reopen(isWaking?: boolean): void {
    if (isWaking) this.#send({ kind: "wake" });
    if (this.#stepDown !== null) this.#direct.reopen(isWaking);
    else this.#followAll();
  }

  /** Ends the sharing for this tab only. */
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
    this.#send({ kind: this.#isHidden() ? "hidden" : "visible" });
  }

  #followAll(): void {
    for (const [key, one] of this.#own) this.#follow(key, one);
  }

  #follow(key: string, one: OwnSubscription): void {
    const { subscriber } = one;
    if (this.#stepDown !== null) {
      one.asked = 0;
      one.leave = this.#direct.add(subscriber);
      return;
    }
    const asked = one.asked = ++openListsOf(this.#transport).asked;
    const { path } = subscriber;
    this.#send({ kind: "add", tab: this.#tab, key, path, token: subscriber.set.token, asked });
  }

  async #stand(): Promise<void> {
    const { name, locks } = this.#shared;
    const { signal } = this.#ending;
    try {
      // If the lock is granted after `close()`, this tab must not become the leader.
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
    if (message.kind === "hidden") {
      if (!this.#isHidden()) this.#send({ kind: "visible" });
    } else if (this.#stepDown === null) {
      if (message.kind === "leader") this.#followAll();
      else if (message.kind === "event" && message.tab === this.#tab) this.#deliver(message);
    } else if (message.kind === "wake") this.#direct.reopen(true);
    else if (message.kind === "visible") {
      if (this.#isHidden()) this.#stepDown();
    } else if (message.kind === "add" || message.kind === "remove") {
      const { tab, key } = message;
      this.#others.get(tab + key)?.();
      this.#others.delete(tab + key);
      if (message.kind === "add") this.#others.set(tab + key, this.#serve(message));
    }
  }

  /** Passes a leader's event to its subscriber, unless the subscriber has sent a newer request. */
  #deliver({ key, asked, message }: TabMessage & { readonly kind: "event" }): void {
    const one = this.#own.get(key);
    if (one?.asked !== asked) return;
    // `asked` counts the leader's streams, but a subscriber compares the count of this tab.
    if (message.type === "opened") message = { ...message, asked };
    if (message.type === "status" && message.error !== null) {
      const { error } = message;
      message = { ...message, error: new ServiceError(error.slug, error.message, error) };
    }
    one.subscriber.receive(message);
  }

  #serve(request: FollowRequest): () => void {
    const { tab, key, path, asked } = request;
    const { name, locks } = this.#shared;
    const ending = new AbortController();
    const leave = this.#direct.add({
      path,
      set: request,
      receive: (message) => {
        if (message.type === "token") request.token = message.token;
        if (message.type === "invalidate") request.token = null;
        // A channel copies only the message of an Error, so the members are sent as a plain object.
        if (message.type === "status" && message.error !== null) {
          const { error } = message;
          message = { ...message, error: { ...error, message: error.message } };
        }
        this.#send({ kind: "event", tab, key, asked, message });
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
  /** The number of the last request to the leader, or 0 while this tab is the leader. */
  asked: number;
  leave(): void;
}

type TabMessage =
  /** The sender is the new leader. Other tabs then send their subscriptions. */
  | { readonly kind: "leader" }
  /** The sender is hidden. Visible tabs reply `visible`, and a hidden leader releases its lock. */
  | { readonly kind: "hidden" }
  | { readonly kind: "visible" }
  | { readonly kind: "wake" }
  | FollowRequest
  | { readonly kind: "remove"; readonly tab: string; readonly key: string }
  | {
    readonly kind: "event";
    readonly tab: string;
    readonly key: string;
    readonly asked: number;
    readonly message: LiveMessage;
  };

/** A subscription that a tab sends to the leader. Replaces a subscription with an equal key. */
interface FollowRequest {
  readonly kind: "add";
  readonly tab: string;
  readonly key: string;
  readonly path: string;
  /** The token to resume after the last event; null to start over. The leader updates it. */
  token: string | null;
  readonly asked: number;
}
