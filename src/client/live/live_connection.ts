import { DirectConnection } from "./direct_connection.ts";
import type { LiveConnection } from "./live_messages.ts";
import type { Transport } from "../../api/transport.ts";

/** The connection that the live lists and aggregates of a client share: made once. */
export function connectionOf(transport: Transport): LiveConnection {
  const { parts } = transport;
  // The map gives each key the type that its writers, here and in `tabs/`, have put there.
  const known = parts.get(connectionOf) as LiveConnection | undefined;
  const connection = known ?? new DirectConnection(transport);
  parts.set(connectionOf, connection);
  return connection;
}
