import type { PostgresServer } from "./postgres_js_connection.ts";

/** Where connections to Postgres lead. */
export interface PostgresPlace {
  /** For messages where `server` says more. */
  readonly url: string;
  readonly server: PostgresServer | null;
}

/**
 * Where a client of postgres.js or of node-postgres connects to. Throws an Error for another object.
 */
export function serverOf(client: object): PostgresPlace {
  // Whether a member is there is asked before it is used.
  const { options, connectionParameters } = client as Client;
  if (typeof options?.connectionString === "string") {
    return { url: options.connectionString, server: null };
  }
  const given = connectionParameters ?? options;
  if (given === undefined) {
    throw new Error("Cannot find the server of this client: it is none of postgres.js or of pg");
  }
  const { host, port, path, database, ssl } = given;
  const server = {
    ...present({ host, port, path, database, ssl }),
    ...present({ username: given.user, password: given.pass ?? given.password }),
  };
  // A client that prepares nothing is one of a pooler.
  const query = given.prepare === false ? "?prepare=false" : "";
  const place = [host ?? "localhost", port ?? 5432].map((part) => [part].flat()[0]).join(":");
  return { url: `postgres://${place}/${database ?? given.user ?? ""}${query}`, server };
}

/** What postgres.js has read its options to, or what node-postgres was given. */
interface ClientOptions extends Omit<PostgresServer, "username"> {
  readonly connectionString?: unknown;
  readonly user?: unknown;
  readonly pass?: unknown;
  readonly prepare?: unknown;
}

interface Client {
  /** Of postgres.js, and of a pool of node-postgres. */
  readonly options?: ClientOptions;
  /** Of a single client of node-postgres. */
  readonly connectionParameters?: ClientOptions;
}

/** Without what is missing, which the library takes from the environment. */
function present(options: PostgresServer): PostgresServer {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== null),
  );
}
