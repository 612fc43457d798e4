import { connectionOf } from "../live/live_connection.ts";
import { handle, type HasHandle } from "../../api/handle.ts";
import { TabConnection } from "./tab_connection.ts";

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
  const { environment: { locks, channel: open }, baseUrl, parts } = transport;
  const name = `live ${baseUrl} ${identity}`;
  // An open channel keeps a process alive.
  const channel = locks && open(name);
  if (!locks || !channel) return () => {};
  const connection = new TabConnection(transport, { name, locks, channel });
  parts.set(connectionOf, connection);
  return () => {
    parts.delete(connectionOf);
    connection.close();
  };
}
