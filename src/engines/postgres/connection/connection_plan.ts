import { isIP } from "node:net";
import { userInfo } from "node:os";
import { stat } from "node:fs/promises";
import { ifReadable } from "../../../runtime/files/optional_file.ts";
import { readPassword, readService, userFile } from "./connection_files.ts";
import {
  complete,
  type Lookup,
  type PostgresServer,
  refuse,
  type ServerState,
} from "./keywords.ts";
import { parseConnectionString, readSettings } from "./parse_connection_string.ts";
import { tlsOfParameters, type TlsRules } from "./tls_rules.ts";

/** The content of a connection string, the environment and the files of libpq. */
export interface ConnectionPlan {
  readonly servers: readonly PostgresServer[];
  readonly user: string;
  readonly database: string;
  /** Returns the password for a server, or null if there is none. */
  password(server: PostgresServer): Promise<string | null>;
  readonly settings: Readonly<Record<string, string>>;
  readonly tls: TlsRules;
  /** Null if the plan does not say which servers to use. */
  readonly state: ServerState | null;
  /** The time limit for one server, in milliseconds. */
  readonly connectLimitMs: number;
  /** The time until a silent connection is tested, in seconds, or 0 for no tests. */
  readonly keepAliveSeconds: number;
  /** True for a pooler that assigns connections per transaction. LISTEN is impossible there. */
  readonly isPooled: boolean;
  /** The plan of connections through a pooler, on which requests run, or null. */
  readonly pooler: ConnectionPlan | null;
}

async function readParameters(
  text: string,
  environment: Lookup,
): Promise<ReadonlyMap<string, string>> {
  const parameters = new Map(parseConnectionString(text));
  const inherit = (name: string, value: string | undefined) => {
    if (value !== undefined && value !== "" && !parameters.has(name)) parameters.set(name, value);
  };
  inherit("service", environment("PGSERVICE"));
  inherit("servicefile", environment("PGSERVICEFILE"));
  const service = parameters.get("service");
  if (service !== undefined) {
    const found = await readService(service, parameters.get("servicefile"), environment);
    for (const [name, value] of found) inherit(name, value);
  }
  complete(parameters, environment);
  if (environment("PGREQUIRESSL")?.startsWith("1")) inherit("sslmode", "require");
  return parameters;
}

/** Reads a connection plan. Throws an Error without secrets if a part is unknown or impossible. */
export async function readConnectionPlan(
  text: string,
  environment: Lookup,
): Promise<ConnectionPlan> {
  const parameters = await readParameters(text, environment);
  const get = (name: string) => parameters.get(name) || undefined;
  const seconds = (name: string) => whole(name, get(name) ?? "0");
  const servers = await serversOf(get);
  const user = get("user") ?? systemUser(environment);
  const database = get("dbname") ?? user;
  const pooler = get("pooler");
  const passfile = get("passfile") ?? userFile(".pgpass", environment);
  return {
    ...{ servers, user, database },
    async password({ host, port, path }) {
      const given = get("password");
      if (given !== undefined) return given;
      // The file calls the default socket localhost, as libpq does.
      const known = path !== null && socketFolders.includes(host) ? "localhost" : host;
      return await readPassword(passfile, [known, String(port), database, user]);
    },
    settings: readSettings(get),
    tls: tlsOfParameters(get, environment, servers),
    // The cast is safe: `complete` has compared the value with the list of states.
    state: (get("target_session_attrs") ?? null) as ServerState | null,
    connectLimitMs: 1_000 * seconds("connect_timeout") || Infinity,
    keepAliveSeconds: get("keepalives") === "0" ? 0 : seconds("keepalives_idle") || 60,
    isPooled: get("prepare") === "false",
    pooler: pooler === undefined ? null : {
      ...await readConnectionPlan(pooler, environment),
      isPooled: true,
    },
  };
}

/** The folders of the sockets of Debian's packages and of a server that was built by hand. */
const socketFolders: readonly string[] = ["/var/run/postgresql", "/tmp"];

async function serversOf(get: Lookup): Promise<readonly PostgresServer[]> {
  const [hosts, addresses] = [get("host")?.split(","), get("hostaddr")?.split(",")];
  const count = addresses?.length ?? hosts?.length ?? 1;
  if (hosts !== undefined && hosts.length !== count) refuse("host and hostaddr differ in length");
  const ports = (get("port") ?? "").split(",");
  if (ports.length !== 1 && ports.length !== count) refuse("there are more hosts or more ports");
  return await Promise.all(Array.from({ length: count }, async (_, at) => {
    const port = whole("port", ports[ports.length === 1 ? 0 : at] || "5432");
    if (port < 1 || port > 65_535) refuse("port must be from 1 to 65535");
    const address = addresses?.[at] || undefined;
    const host = hosts?.[at] || address || await defaultHost(port);
    const path = address === undefined && host.startsWith("/") ? `${host}/.s.PGSQL.${port}` : null;
    return { host, address: address ?? host, port, path };
  }));
}

/** Returns the folder of the machine's own server, or `localhost` if there is no such socket. */
async function defaultHost(port: number): Promise<string> {
  for (const folder of socketFolders) {
    if (await ifReadable(`${folder}/.s.PGSQL.${port}`, stat) !== null) return folder;
  }
  return "localhost";
}

function whole(name: string, value: string): number {
  // The value is no part of the message, because it may be a part of a password.
  if (!/^\s*-?\d{1,9}\s*$/.test(value)) refuse(`${name} is not a whole number`);
  return Math.max(0, Number(value));
}

function systemUser(environment: Lookup): string {
  try {
    return userInfo().username;
  } catch {
    // A process without an entry in the list of users has only variables.
    return environment("USER") ?? refuse("it names no user, as in postgres://USER@HOST/DATABASE");
  }
}

/** Returns the URL of a plan for messages, without a user and without parameters. */
export function labelOf({ servers, database }: ConnectionPlan): string {
  const hosts = servers.map(({ host, port }) => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`);
  return `postgres://${hosts.join(",")}/${database}`;
}
