import { connectionOf } from "../live/live_connection.ts";
import { handle, type HasHandle } from "../../api/handle.ts";
import { TabConnection } from "./tab_connection.ts";

/** The options that determine which tabs share a stream. */
export interface ShareTabsOptions {
  /** The identity of the user. Users have different rights, so their tabs share no stream. */
  readonly identity: string;
}

/**
 * Lets the tabs of an origin share the streams of one tab, the leader, through a BroadcastChannel.
 * The leader holds a Web Lock. A hidden leader releases the lock to a visible tab. The program must
 * call `shareTabs` before it opens a live list. The returned function ends the sharing. Without
 * locks or channels, as in Node, the function does nothing.
 */
export function shareTabs(api: HasHandle, { identity }: ShareTabsOptions): () => void {
  const { transport } = api[handle];
  const { environment: { locks, channel: open }, baseUrl, parts } = transport;
  const name = `live ${baseUrl} ${identity}`;
  // Locks are checked before the channel is opened, because an open channel keeps a process alive.
  const channel = locks && open(name);
  if (!locks || !channel) return () => {};
  const connection = new TabConnection(transport, { name, locks, channel });
  parts.set(connectionOf, connection);
  return () => {
    parts.delete(connectionOf);
    connection.close();
  };
}
