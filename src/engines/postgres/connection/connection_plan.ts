import { isIP } from "node:net";
import { platform, userInfo } from "node:os";
import { stat } from "node:fs/promises";
import { ifReadable, readOptionalFile } from "../../../runtime/files/optional_file.ts";
import {
  complete,
  keywords,
  type Lookup,
  type PostgresServer,
  refuse,
  type ServerState,
  tlsModes,
} from "./keywords.ts";
import { parseConnectionString, readSettings } from "./parse_connection_string.ts";
import { createPrivateKey } from "node:crypto";
import {
  checkServerIdentity,
  type ConnectionOptions,
  type PeerCertificate,
  type SecureVersion,
} from "node:tls";

export interface ConnectionPlan {
  readonly servers: readonly PostgresServer[];
  readonly user: string;
  readonly database: string;
  password(server: PostgresServer): Promise<string | null>;
  readonly settings: Readonly<Record<string, string>>;
  readonly tls: TlsRules;
  readonly state: ServerState | null;
  readonly connectLimitMs: number;
  /** The time after which an idle connection is tested, in seconds; 0 for never. */
  readonly keepAliveSeconds: number;
  /** True for a pooler that assigns connections per transaction. LISTEN is impossible there. */
  readonly isPooled: boolean;
  readonly pooler: ConnectionPlan | null;
  readonly replicas: readonly string[];
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
      // In a password file, as in libpq, the default socket has the name localhost.
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
    replicas: get("replicas")?.trim().split(/\s+/) ?? [],
    pooler: pooler === undefined ? null : {
      ...await readConnectionPlan(pooler, environment),
      isPooled: true,
    },
  };
}

/** The socket folders of Debian's packages and of a server that was compiled from source. */
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

async function defaultHost(port: number): Promise<string> {
  for (const folder of socketFolders) {
    if (await ifReadable(`${folder}/.s.PGSQL.${port}`, stat) !== null) return folder;
  }
  return "localhost";
}

function whole(name: string, value: string): number {
  // The message omits the value, because the value may be a part of a password.
  if (!/^\s*-?\d{1,9}\s*$/.test(value)) refuse(`${name} is not a whole number`);
  return Math.max(0, Number(value));
}

function systemUser(environment: Lookup): string {
  try {
    return userInfo().username;
  } catch {
    // The system's list of users lacks the process's user, so only a variable can contain the name.
    return environment("USER") ?? refuse("it names no user, as in postgres://USER@HOST/DATABASE");
  }
}

export function labelOf({ servers, database }: ConnectionPlan): string {
  const hosts = servers.map(({ host, port }) => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`);
  return `postgres://${hosts.join(",")}/${database}`;
}

export interface TlsRules {
  /** The value of the parameter `sslmode`. */
  readonly mode: string;
  /** The advice at the end of the message of a failed handshake. It can be empty. */
  readonly advice: string;
  /** Reads the certificates. Called for each connection, because certificates are renewed. */
  options(server: PostgresServer): Promise<ConnectionOptions>;
}

export function requiresTls(mode: string): boolean {
  return tlsModes.indexOf(mode) >= tlsModes.indexOf("require");
}

export function tlsFailure(message: string, cause?: Error): Error {
  return Object.assign(new Error(message, { cause }), { name: tlsFailureName });
}

export function isTlsFailure(error: unknown): boolean {
  return error instanceof Error && error.name === tlsFailureName;
}

const tlsFailureName = "TlsFailure";

/** If channel binding, which the library lacks, is required, `verify-full` takes its place. */
export function tlsOfParameters(
  get: Lookup,
  environment: Lookup,
  servers: readonly PostgresServer[],
): TlsRules {
  const isBound = get("channel_binding") === "require";
  const isOfSystem = get("sslrootcert") === "system";
  const given = get("sslmode") ?? (isOfSystem || isBound ? "verify-full" : "prefer");
  if (isBound && (!requiresTls(given) || servers.some(({ path }) => path !== null))) {
    refuse("channel_binding=require needs TLS: a host with TLS and sslmode=require or verify-full");
  }
  const mode = isBound ? "verify-full" : given;
  if (isOfSystem && mode !== "verify-full") {
    refuse("sslrootcert=system requires sslmode=verify-full");
  }
  const bindingAdvice =
    "channel_binding=require verifies the server: name the file of its authority in sslrootcert";
  const advice = isBound ? bindingAdvice : mode.startsWith("verify-") ? `sslmode=${mode}` : "";
  return {
    ...{ mode, advice: advice === "" ? "" : ` (${advice})` },
    async options(server) {
      const file = (name: string, standard: string) =>
        get(name) ?? userFile(`.postgresql/${standard}`, environment);
      const ca = isOfSystem ? null : await readOptionalFile(file("sslrootcert", "root.crt"));
      const trustsSystem = isOfSystem || isBound && get("sslrootcert") === undefined;
      if (ca === null && !trustsSystem && mode.startsWith("verify-")) {
        refuse(
          `${advice} requires the certificate of an authority: name the file in sslrootcert, or ` +
            "use sslrootcert=system for the authorities of the system",
        );
      }
      return {
        // As in libpq, every mode verifies the certificate if there is a file of CA certificates.
        ...{ ...(ca === null ? {} : { ca }), rejectUnauthorized: ca !== null || trustsSystem },
        checkServerIdentity: mode === "verify-full" ? nameCheck(server) : () => undefined,
        ...(get("sslcertmode") === "disable" ? {} : await ownCertificate(get, file)),
        // With an empty name, the handshake contains no server name.
        servername: get("sslsni") === "0" || isIP(server.host) !== 0 ? "" : server.host,
        // The casts are safe: `complete` has compared the values with the list of versions.
        minVersion: (get("ssl_min_protocol_version") ?? "TLSv1.2") as SecureVersion,
        maxVersion: (get("ssl_max_protocol_version") ?? "TLSv1.3") as SecureVersion,
      };
    },
  };
}

async function ownCertificate(get: Lookup, file: (name: string, standard: string) => string) {
  const [certPath, keyPath] = [file("sslcert", "postgresql.crt"), file("sslkey", "postgresql.key")];
  const cert = await readOptionalFile(certPath);
  if (cert === null) {
    return get("sslcert") === undefined ? {} : refuse("the file of sslcert cannot be read");
  }
  const key = await readOptionalFile(keyPath) ?? refuse("the file of sslkey cannot be read");
  const { mode, uid } = await stat(keyPath);
  if ((mode & (uid === 0 ? 0o037 : 0o077)) !== 0 && mode !== 0o100666) {
    refuse("other users may read the file of sslkey: use chmod 600");
  }
  try {
    const passphrase = get("sslpassword");
    const plain = createPrivateKey({ key, ...(passphrase === undefined ? {} : { passphrase }) });
    return { cert, key: plain.export({ type: "pkcs8", format: "pem" }) };
  } catch {
    // The message omits the library's error, because it may contain a part of the key.
    refuse("the file of sslkey is no private key, or sslpassword is not its password");
  }
}

/** Returns the check of a certificate's name. As in libpq, the common name can be an IP address. */
function nameCheck({ host }: PostgresServer) {
  return (_name: string, certificate: PeerCertificate): Error | undefined => {
    const isNamed = certificate.subjectaltname === undefined && certificate.subject.CN === host;
    return isNamed ? undefined : checkServerIdentity(host, certificate);
  };
}

function userFile(name: string, environment: Lookup): string {
  return `${environment("HOME") ?? ""}/${name}`;
}

async function readService(
  name: string,
  file: string | undefined,
  environment: Lookup,
): Promise<ReadonlyMap<string, string>> {
  const first = file ?? userFile(".pg_service.conf", environment);
  const folder = environment("PGSYSCONFDIR") ?? "/etc/postgresql-common";
  for (const path of [first, `${folder}/pg_service.conf`]) {
    const text = await readOptionalFile(path);
    if (text === null && path === file) refuse("the file of PGSERVICEFILE cannot be read");
    const found = serviceOf(text ?? "", name);
    if (found !== null) return found;
  }
  refuse(`no service file defines the service "${name}"`);
}

function serviceOf(text: string, name: string): ReadonlyMap<string, string> | null {
  const lines = text.split("\n").map((line) => line.trim());
  const start = lines.findIndex((line) => line.startsWith(`[${name}]`));
  const found = new Map<string, string>();
  for (let at = start + 1; start >= 0 && lines[at]?.startsWith("[") === false; at++) {
    const [line, keyword = "", value = ""] = /^([^=#]*)=(.*)$/.exec(lines[at] ?? "") ?? [];
    if (line === undefined && /^(?:#|$)/.test(lines[at] ?? "")) continue;
    if (!Object.hasOwn(keywords, keyword) || keyword.startsWith("service")) {
      refuse(`line ${at + 1} of the service file, in [${name}], sets no known parameter`);
    }
    if (!found.has(keyword)) found.set(keyword, value);
  }
  return start < 0 ? null : found;
}

/** Returns a password from a file. As in libpq, ignores a file that other users may read. */
async function readPassword(path: string, of: readonly string[]): Promise<string | null> {
  const text = await readOptionalFile(path);
  // Windows has no file modes for other users.
  const isOpen = text !== null && platform() !== "win32" && ((await stat(path)).mode & 0o077) !== 0;
  for (const line of isOpen ? [] : text?.split(/\r?\n/) ?? []) {
    const fields = passwordLine.exec(line)?.slice(1) ?? [];
    const plain = fields.map((field) => field.replaceAll(/\\(.)/g, "$1"));
    const matches = of.every((value, at) => fields[at] === "*" || plain[at] === value);
    if (matches) return plain[of.length] ?? null;
  }
  return null;
}

const passwordLine = new RegExp(`^(?!#)${"((?:\\\\.|[^:\\\\])*):".repeat(4)}(.*)$`);
