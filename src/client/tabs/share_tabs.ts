import { browserEnvironmentOf } from "../environment.ts";
import { handle, type HasHandle } from "../../api/handle.ts";
import { openListsOf } from "../live/open_lists.ts";
import { TabConnection } from "./tab_connection.ts";

/** The options that determine which tabs share a stream. */
export interface ShareTabsOptions {
  /** The identity of the user. Tabs of different users share no stream, because rights differ. */
  readonly identity: string;
}

/**
 * Lets the browser tabs of an origin share the streams of one tab, the leader. The leader holds a
 * Web Lock; a hidden leader releases the lock to a visible tab. Tabs communicate by a
 * BroadcastChannel. The program must call `shareTabs` before it opens a live list. The returned
 * function ends the sharing. Without locks or channels, as in Node, `shareTabs` does nothing.
 */
export function shareTabs(api: HasHandle, { identity }: ShareTabsOptions): () => void {
  const { transport } = api[handle];
  const { locks, channel: open } = browserEnvironmentOf(transport);
  const name = `live ${transport.baseUrl} ${identity}`;
  // An open channel would keep a process alive, so none is opened without locks.
  const channel = locks && open(name);
  if (!locks || !channel) return () => {};
  const connection = new TabConnection(transport, { name, locks, channel });
  const lists = openListsOf(transport);
  lists.connection = connection;
  return () => {
    delete lists.connection;
    connection.close();
  };
}
