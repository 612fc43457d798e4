import postgres from "postgres";
import type { Socket } from "node:net";
import { textValues } from "../driver/text_values.ts";
import type { ConnectionPlan } from "./connection_plan.ts";
import { connectionError, openSocket } from "./open_socket.ts";
import type { Attempt } from "./server_choice.ts";

export type LibraryClient = postgres.Sql;

export interface LibraryClientOptions {
  readonly plan: ConnectionPlan;
  readonly attempt: Attempt;
  readonly settings: Readonly<Record<string, string | number>>;
  readonly limitMs: number;
  readonly signal: AbortSignal;
  /** Returns true once the connection is open. Later sockets send requests to cancel. */
  readonly isOpen: () => boolean;
  readonly notified: ((payload: string) => void) | undefined;
  readonly closed: () => void;
  /** Called when the server reports the value of a setting, at first and after a change. */
  readonly reported: (name: string, value: string) => void;
}

/** Creates a client whose sockets this module opens. The environment does not change the client. */
export function createLibraryClient(options: LibraryClientOptions): LibraryClient {
  const { plan, attempt: { server }, limitMs, notified, closed } = options;
  // The declarations of the library lack some options.
  const given = {
    ...{ host: [server.host], port: [server.port], database: plan.database, username: plan.user },
    password: async () => await plan.password(server) ?? "",
    ...{ max: 1, prepare: !plan.isPooled, ssl: false, sslnegotiation: null },
    // 0 disables a timer that could close a connection in the middle of a transaction.
    ...{ idle_timeout: 0, max_lifetime: null, max_pipeline: 100, backoff: 0, debug: false },
    connect_timeout: Math.ceil(limitMs / 1000),
    keep_alive: plan.keepAliveSeconds,
    ...{ fetch_types: false, publications: "", types: { text: textValues } },
    connection: options.settings,
    // The library reads the environment if it has no state to require. This state is removed below.
    target_session_attrs: "primary",
    ...{ onnotice: () => {}, onclose: closed, onparameter: options.reported },
    socket: socketOf(options),
    ...(notified === undefined ? {} : {
      onnotify: (_channel: string, payload: string) => notified(payload),
    }),
  };
  // The casts are safe: the library has the options above, and creates clients of parsed options.
  const { options: parsed } = postgres(given as unknown as postgres.Options<Types>);
  const all = { ...parsed, target_session_attrs: null } as unknown as postgres.Options<Types>;
  return postgres(all);
}

type Types = Record<string, postgres.PostgresType>;

/** Returns the function that opens the client's connection, and one for each request to cancel. */
function socketOf(options: LibraryClientOptions): () => Promise<Socket> {
  const { plan, attempt: { server, isEncrypted }, signal } = options;
  let isFirst = true;
  return async () => {
    // The library would reconnect forever if a proxy closes each connection immediately.
    if (!isFirst && !options.isOpen()) {
      throw connectionError("CONNECTION_CLOSED", "was closed while it was opened");
    }
    const ending = isFirst ? signal : new AbortController().signal;
    isFirst = false;
    return await openSocket(server, plan.tls, isEncrypted, ending);
  };
}

/** Returns true if the server sent the error. The connection is then still usable. */
export function isFromServer(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  // Older servers and some poolers send only the localized severity.
  return (error.severity ?? error.severity_local) === "ERROR";
}
