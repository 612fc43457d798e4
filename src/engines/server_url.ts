import {
  isKeywordString,
  parseConnectionString,
  toConnectionUrl,
} from "./postgres/connection/parse_connection_string.ts";

export function isServerUrl(place: string): boolean {
  return /^postgres(?:ql)?:/i.test(place) || isKeywordString(place);
}

/** Returns a string that names a server for messages: without a login and without parameters. */
export function withoutSecrets(place: string): string {
  if (isKeywordString(place)) return "…";
  if (!isServerUrl(place)) return withoutLogin(place);
  return place.replace(/\/\/[^/@]*@/, "//…@").replace(/\?.*$/s, "?…");
}

/** Returns a path without the login of a server, because a misspelled URL counts as a path. */
export function withoutLogin(path: string): string {
  return path.replace(/\/[^/@]*:.*@/s, "/…@");
}

/** Adds a parameter to a server's URL. The last parameter of a name overrides earlier ones. */
export function withParameter(place: string, name: string, value: string): string {
  const url = isKeywordString(place) ? toConnectionUrl(parseConnectionString(place)) : place;
  return `${url}${url.includes("?") ? "&" : "?"}${name}=${encodeURIComponent(value)}`;
}

/** A Postgres server, and a pooler in front of it that assigns connections per transaction. */
export interface PostgresServers {
  /** The URL of a direct connection, which receives the NOTIFY messages of other processes. */
  readonly primary: string;
  /** The URL of the pooler that the requests use. Default: requests use direct connections. */
  readonly pooler?: string | undefined;
  /** The URLs of standby servers, which run lists, counts, aggregates, searches and exports. */
  readonly replicas?: readonly string[] | undefined;
}

export function urlOfServers(
  { primary, pooler, replicas = [], ...unknown }: PostgresServers,
): string {
  const areStrings = Array.isArray(replicas) &&
    [primary, pooler ?? "", ...replicas].every((url) => typeof url === "string");
  if (!areStrings || Object.keys(unknown).length > 0) {
    throw new Error(
      "Cannot open the database: several servers are { primary: URL, pooler: URL, replicas: [URL] }",
    );
  }
  const pooled = pooler === undefined ? primary : withParameter(primary, "pooler", pooler);
  return replicas.length === 0 ? pooled : withParameter(pooled, "replicas", replicas.join(" "));
}
