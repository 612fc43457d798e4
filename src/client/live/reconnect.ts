import { handle, type HasHandle } from "../../api/handle.ts";
import { connectionOf } from "./direct_connection.ts";

/** Makes a client's live lists retry immediately, for instance after a sign-in. */
export function reconnect(api: HasHandle): void {
  connectionOf(api[handle].transport).reopen(true);
}
