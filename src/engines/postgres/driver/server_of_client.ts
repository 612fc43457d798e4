import type { PostgresServerOptions } from "./postgres_js_connection.ts";

export interface PostgresTarget {
  /** The URL. If `server` is set, the URL is only used in messages. */
  readonly url: string;
  readonly server: PostgresServerOptions | null;
}

/** Returns the server of a postgres.js or node-postgres client. Throws for other objects. */
export function serverOfClient(client: object): PostgresTarget {
  // Any member may be missing, so the code below checks every member before its use.
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
  // If a client has `prepare: false`, its server is assumed to be a pooler.
  const query = given.prepare === false ? "?prepare=false" : "";
  const place = [host ?? "localhost", port ?? 5432].map((part) => [part].flat()[0]).join(":");
  return { url: `postgres://${place}/${database ?? given.user ?? ""}${query}`, server };
}

/** The parsed options of postgres.js, or the given options of node-postgres. */
interface ClientOptions extends Omit<PostgresServerOptions, "username"> {
  readonly connectionString?: unknown;
  readonly user?: unknown;
  readonly pass?: unknown;
  readonly prepare?: unknown;
}

interface Client {
  /** The options of a postgres.js client, or of a pool of node-postgres. */
  readonly options?: ClientOptions;
  /** The options of a single client of node-postgres. */
  readonly connectionParameters?: ClientOptions;
}

/** Removes options that are undefined. The library then uses environment variables instead. */
function present(options: PostgresServerOptions): PostgresServerOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== null),
  );
}
