import { didYouMean } from "../../../problem/nearest_name.ts";
import { keywords, type Lookup, refuse } from "./keywords.ts";

/** Parses a URL or keywords, as libpq does. Error messages name parameters, but show no values. */
export function parseConnectionString(text: string): ReadonlyMap<string, string> {
  const [, rest] = /^postgres(?:ql)?:(?:\/\/)?(.*)$/is.exec(text) ?? [];
  return rest === undefined ? parseKeywords(text) : parseUrl(rest);
}

export function isKeywordString(text: string): boolean {
  const [, name = ""] = /^\s*([a-z_]+)\s*=/.exec(text) ?? [];
  return Object.hasOwn(keywords, name);
}

export function toConnectionUrl(parameters: ReadonlyMap<string, string>): string {
  const query = [...parameters].map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `postgres://?${query.join("&")}`;
}

function parseUrl(rest: string): ReadonlyMap<string, string> {
  const found = urlParts.exec(rest);
  if (found === null) refuse("the URL has a [ without a ], which an IPv6 address needs");
  const [, login, hosts = "", path = "", query = ""] = found;
  // Without these checks, a part of a password could be read as a host, and appear in a message.
  if (hosts.includes("@")) refuse("a user or password has an @: write %40 in the URL");
  if (login === undefined && path.includes("@")) {
    refuse("an @ follows a slash: write a slash of a user or password as %2F, and an @ as %40");
  }
  const parameters = new Map<string, string>();
  const set = (name: string, value: string) => {
    if (value !== "") parameters.set(name, value);
  };
  if (login !== undefined) {
    const [user = "", ...password] = login.split(":");
    set("user", decode(user, "user"));
    set("password", decode(password.join(":"), "password"));
  }
  const servers = hosts.match(/(?:\[[^\]]*\]|[^,[])+|(?<=,|^)(?=,|$)/g) ?? [];
  const parts = servers.map((server) => serverParts.exec(server));
  if (parts.includes(null)) refuse("a host of the URL has a wrong form: use HOST, HOST:PORT");
  const hostNames = parts.map((part) => decode(part?.[1] ?? part?.[2] ?? "", "host"));
  set("host", hostNames.join(","));
  set("port", parts.map((part) => decode(part?.[3] ?? "", "port")).join(","));
  set("dbname", decode(path, "database"));
  // If the URL has no login, this query may be a part of a password, which no error may show.
  const isSecret = login === undefined && query.includes("@");
  for (const part of query.split("&").filter((part) => part !== "")) {
    addParameter(parameters, part, isSecret);
  }
  return parameters;
}

/** The login, the hosts, the path and the query of a URL. A login may contain a question mark. */
const urlParts = /^(?:([^@/]*)@)?((?:\[[^\]]*\]|[^[/?])*)(?:\/([^?]*))?(?:\?(.*))?$/s;

const serverParts = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::([^:]*))?$/;

function addParameter(parameters: Map<string, string>, part: string, isSecret: boolean): void {
  const at = part.indexOf("=");
  if (at < 0) refuse("a parameter of the URL has no =");
  const name = decode(part.slice(0, at), "name of a parameter");
  const value = decode(part.slice(at + 1), `parameter ${isSecret ? "" : name}`);
  // JDBC defines this parameter, and libpq also accepts it.
  if (name === "ssl" && value === "true") parameters.set("sslmode", "require");
  else parameters.set(known(name, isSecret), value);
}

function known(name: string, isSecret: boolean): string {
  if (Object.hasOwn(keywords, name)) return name;
  if (isSecret || !/^[\w.]{1,63}$/.test(name)) refuse("the URL has an unknown parameter");
  const hint = didYouMean(name, Object.keys(keywords));
  refuse(
    `there is no parameter ${name}${
      hint === "" ? "." : hint
    } If ${name} is a setting of the session, write ` +
      `options=-c%20${name}%3DVALUE in a URL, options='-c ${name}=VALUE' elsewhere`,
  );
}

function decode(text: string, part: string): string {
  try {
    const decoded = decodeURIComponent(text);
    if (!decoded.includes("\0")) return decoded;
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
  }
  refuse(`the ${part} of the URL has a % that begins no encoded character: write a % as %25`);
}

function parseKeywords(text: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  const pair = /\s*([^\s=]+)\s*=\s*(?:'((?:\\.|[^'\\])*)'|((?!')(?:\\.|[^\s\\])*))(?=\s|$)/gys;
  let end = 0;
  for (const [whole, name = "", quoted, plain = ""] of text.matchAll(pair)) {
    end += whole.length;
    parameters.set(known(name, false), (quoted ?? plain).replaceAll(/\\(.)/gs, "$1"));
  }
  if (text.slice(end).trim() !== "") refuse("write its parameters as NAME=VALUE or NAME='VALUE'");
  return parameters;
}

/** Settings that a URL must not change, because they determine the format of values. */
const fixed: ReadonlySet<string> = new Set([
  ...["timezone", "datestyle", "intervalstyle", "bytea_output", "extra_float_digits"],
  ...["client_encoding", "standard_conforming_strings"],
]);

export function readSettings(get: Lookup): Readonly<Record<string, string>> {
  const settings: Record<string, string> = {
    application_name: get("application_name") ?? get("fallback_application_name") ?? "resource-api",
  };
  const path = get("search_path");
  if (path !== undefined) settings.search_path = path;
  const words = get("options")?.match(/(?:\\.|[^\\\s])+/g) ?? [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] === "-c" ? `-c${words[++at] ?? ""}` : words[at] ?? "";
    const found = /^(?:-c|--)([^=]+)=(.*)$/s.exec(word.replaceAll(/\\(.)/gs, "$1"));
    if (found === null) refuse("options must consist of settings, as in -c NAME=VALUE");
    const [, name = "", value = ""] = found;
    // Postgres reads `-` in the name of a setting in `options` as `_`.
    const known = name.replaceAll("-", "_");
    if (fixed.has(known.toLowerCase())) {
      refuse(`options sets ${known}, which the service sets to read values`);
    }
    settings[known] = value;
  }
  return settings;
}
