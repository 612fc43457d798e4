import type { LiveConnection } from "../live/live_messages.ts";
import type { WebLocks } from "../web_platform.ts";
import type { TabMessage, TabRequest } from "./tab_messages.ts";

/** The subscriptions of other tabs, in the tab that has the streams. */
export interface TabSubscriptions {
  /** Adds or removes one; `from` is the id of this tab. */
  receive(request: TabRequest, from: string): void;
  /** Ends all of them. */
  clear(): void;
}

interface Options {
  readonly locks: WebLocks;
  readonly name: string;
  send(message: TabMessage): void;
}

/** Follows for other tabs what they ask for, until they take it back or end. */
export function createTabSubscriptions(
  connection: LiveConnection,
  { locks, name, send }: Options,
): TabSubscriptions {
  const tabs = new Map<string, Map<string, () => void>>();

  function remove(tab: string): void {
    tabs.get(tab)?.forEach((leave) => leave());
    tabs.delete(tab);
  }

  function subscriptionsOf(tab: string): Map<string, () => void> {
    const known = tabs.get(tab);
    if (known !== undefined) return known;
    const made = new Map<string, () => void>();
    tabs.set(tab, made);
    // A tab holds this lock as long as it lives.
    void locks.request(`${name} ${tab}`, {}, () => {
      if (tabs.get(tab) === made) remove(tab);
    });
    return made;
  }

  return {
    receive(request, from) {
      const { tab, key } = request;
      const subscriptions = subscriptionsOf(tab);
      subscriptions.get(key)?.();
      subscriptions.delete(key);
      if (request.kind === "remove") return;
      const { path, asked } = request;
      let { token } = request;
      const leave = connection.add({
        path,
        token: () => token,
        receive(message) {
          if (message.type === "token") token = message.token;
          else if (message.type === "invalidate") token = null;
          send({ kind: "event", from, tab, key, asked, message });
        },
      });
      subscriptions.set(key, leave);
    },
    clear: () => [...tabs.keys()].forEach(remove),
  };
}
