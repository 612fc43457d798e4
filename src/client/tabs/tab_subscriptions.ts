import type { LiveConnection } from "../live/live_messages.ts";
import type { TabMessage, TabRequest } from "./tab_messages.ts";

/** What the subscriptions of other tabs need. */
export interface TabSubscriptionsOptions {
  /** Calls `ended` when a tab has ended. */
  isAlive(tab: string, ended: () => void): void;
  send(message: TabMessage): void;
}

/** The subscriptions of other tabs, in the tab that has the streams. */
export class TabSubscriptions {
  readonly #connection: LiveConnection;
  readonly #options: TabSubscriptionsOptions;
  readonly #tabs = new Map<string, Map<string, () => void>>();

  /** Begins without subscriptions. */
  constructor(connection: LiveConnection, options: TabSubscriptionsOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** Adds or removes one; `from` is the id of this tab. */
  receive(request: TabRequest, from: string): void {
    const { tab, key } = request;
    const subscriptions = this.#subscriptionsOf(tab);
    subscriptions.get(key)?.();
    subscriptions.delete(key);
    if (request.kind === "remove") return;
    const { path, asked } = request;
    let { token } = request;
    const leave = this.#connection.add({
      path,
      token: () => token,
      receive: (message) => {
        if (message.type === "token") token = message.token;
        else if (message.type === "invalidate") token = null;
        // Of an error, a channel passes nothing but the message.
        const known = message.type === "status" && message.error !== null
          ? { ...message, error: { ...message.error, message: message.error.message } }
          : message;
        this.#options.send({ kind: "event", from, tab, key, asked, message: known });
      },
    });
    subscriptions.set(key, leave);
  }

  /** Ends all of them. */
  clear(): void {
    for (const tab of [...this.#tabs.keys()]) this.#remove(tab);
  }

  #remove(tab: string): void {
    for (const leave of this.#tabs.get(tab)?.values() ?? []) leave();
    this.#tabs.delete(tab);
  }

  #subscriptionsOf(tab: string): Map<string, () => void> {
    const known = this.#tabs.get(tab);
    if (known !== undefined) return known;
    const made = new Map<string, () => void>();
    this.#tabs.set(tab, made);
    this.#options.isAlive(tab, () => {
      if (this.#tabs.get(tab) === made) this.#remove(tab);
    });
    return made;
  }
}
