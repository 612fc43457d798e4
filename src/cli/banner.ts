import { urlOf } from "../listener.ts";
import type { CliRights } from "./cli_rights.ts";

/** The facts that the first output tells. */
export interface BannerFacts {
  readonly version: string;
  /** Completes "Serving …", e.g. `shop.db, read-only`. */
  readonly subject: string;
  readonly host: string;
  readonly port: number;
  /** The paths of the resources, as they stand in a URL. */
  readonly paths: readonly string[];
  /** Null where the configuration decides who may do what. */
  readonly access: CliRights | null;
  /** What to try first: path and query. */
  readonly example: string;
}

/** The first output: what is served and where, the token, and one command that works as it is. */
export function banner(facts: BannerFacts): string {
  const url = urlOf(reachableHost(facts.host), facts.port);
  const { paths, access } = facts;
  const shown = paths.slice(0, maxPaths).map((path) => `  ${url}${path}`);
  if (paths.length > maxPaths) shown.push(`  … and ${paths.length - maxPaths} more`);
  return [
    `resource-api ${facts.version}: serving ${printable(facts.subject)}`,
    "",
    ...shown,
    `  ${url}/healthz`,
    ...tokenLines(access),
    "",
    "Try:",
    `  ${exampleCommand(url + facts.example, access)}`,
    "",
  ].join("\n");
}

const maxPaths = 30;

/** An address that means "every address" is no address to call. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

/** Names come from a database: a control character could rewrite the terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, "\ufffd");
}

function tokenLines(access: CliRights | null): readonly string[] {
  if (access === null || access.token === null) return [];
  const what = access.readsNeedToken ? "Requests need" : "Writes need";
  return ["", `${what} the header  Authorization: Bearer ${access.token}`];
}

function exampleCommand(url: string, access: CliRights | null): string {
  const header = access?.readsNeedToken === true && access.token !== null
    ? ` -H ${shellQuote(`Authorization: Bearer ${access.token}`)}`
    : "";
  // `-g`: curl would take brackets of an IPv6 address or of a filter for a pattern.
  return `curl -g${header} ${shellQuote(url)}`;
}

/** Single quotes take everything but themselves literally, in every POSIX shell. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
