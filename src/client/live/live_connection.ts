import { DirectConnection } from "./direct_connection.ts";
import type { LiveConnection } from "./live_messages.ts";
import type { Transport } from "../../api/transport.ts";

/** Returns the connection that all live lists, aggregates and collections of a client share. */
export function connectionOf(transport: Transport): LiveConnection {
  const { parts } = transport;
  // The cast is safe: only this file and `tabs/` write this key, always with this type.
  const known = parts.get(connectionOf) as LiveConnection | undefined;
  const connection = known ?? new DirectConnection(transport);
  parts.set(connectionOf, connection);
  return connection;
}
