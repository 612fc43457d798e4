import { handle, type HasHandle } from "../../api/handle.ts";
import { connectionOf } from "./live_connection.ts";

/** Has the live lists of a client tried again at once: after a sign-in, for instance. */
export function reconnect(api: HasHandle): void {
  connectionOf(api[handle].transport).wake();
}
