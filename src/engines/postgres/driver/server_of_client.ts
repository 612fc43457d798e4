import type { PostgresServerOptions } from "./postgres_js_connection.ts";

export interface PostgresTarget {
  /** The URL. If `server` is set, it is only used in messages. */
  readonly url: string;
  readonly server: PostgresServerOptions | null;
}

/** Returns the server of a postgres.js or node-postgres client. Throws for other objects. */
export function serverOfClient(client: object): PostgresTarget {
  // Each member can be missing, so the code below checks each before its use.
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
  // With `prepare: false`, the client's server is probably a pooler, so it is treated as one.
  const query = given.prepare === false ? "?prepare=false" : "";
  const place = [host ?? "localhost", port ?? 5432].map((part) => [part].flat()[0]).join(":");
  return { url: `postgres://${place}/${database ?? given.user ?? ""}${query}`, server };
}

/** The options of postgres.js after parsing, or those of node-postgres as given. */
interface ClientOptions extends Omit<PostgresServerOptions, "username"> {
  readonly connectionString?: unknown;
  readonly user?: unknown;
  readonly pass?: unknown;
  readonly prepare?: unknown;
}

interface Client {
  /** The options of a postgres.js client, or of a node-postgres pool. */
  readonly options?: ClientOptions;
  /** The options of a single node-postgres client. */
  readonly connectionParameters?: ClientOptions;
}

/** Removes options that are undefined, for which the library then uses environment variables. */
function present(options: PostgresServerOptions): PostgresServerOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== null),
  );
}
