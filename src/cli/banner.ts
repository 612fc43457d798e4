import { urlOf } from "../listen/listener.ts";
import { dashboardPath } from "../service/dashboard/dashboard_path.ts";
import type { CliRights } from "./cli_rights.ts";

/** The facts that the banner shows at the start of the command line. */
export interface BannerFacts {
  readonly version: string;
  /** Completes "Serving …", e.g. `shop.db, read-only`. */
  readonly subject: string;
  readonly host: string;
  readonly port: number;
  /** The paths of the resources, percent-encoded. */
  readonly paths: readonly string[];
  /** The path of the index of all resources, and how paths below it begin. */
  readonly indexPath: string;
  /** How many characters fit in a line of the terminal. */
  readonly width: number;
  /** Null if the configuration decides who may do what. */
  readonly rights: CliRights | null;
  /** The file of the accounts; undefined without accounts. */
  readonly accountsIn?: string | undefined;
  /** What live streams show, as a sentence. */
  readonly streams?: string | undefined;
  /** True if there is a dashboard. */
  readonly hasDashboard?: boolean | undefined;
  /** The path and query of the example. */
  readonly example: string;
}

/**
 * The banner, which is the first output of the command line: what is served and where, the token,
 * and an example command that works.
 */
export function banner(facts: BannerFacts): string {
  const url = urlOf(reachableHost(facts.host), facts.port);
  const { paths, rights } = facts;
  const shown = paths.length <= maxPaths
    ? paths.map((path) => `  ${url}${path}`)
    : resourceColumns(facts, url);
  return [
    `resource-api ${facts.version}: serving ${printable(facts.subject)}`,
    "",
    ...shown,
    `  ${url}/healthz`,
    ...(facts.hasDashboard ? ["", `Dashboard: ${url}${dashboardPath}`] : []),
    ...tokenLines(rights),
    ...accountLines(facts.accountsIn, url),
    ...facts.streams === undefined ? [] : ["", `${printable(facts.streams)}.`],
    "",
    "Try:",
    `  ${exampleCommand(url + facts.example, rights)}`,
    "",
  ].join("\n");
}

/** More resources are shown in columns. */
const maxPaths = 12;

/** More lines would push the rest of the banner off the screen. */
const maxLines = 30;

/** The resources in columns, each from top to bottom, below the URL that theirs begin with. */
function resourceColumns(
  { paths, indexPath, width }: BannerFacts,
  url: string,
): readonly string[] {
  const start = paths.every((path) => path.startsWith(indexPath)) ? indexPath : "";
  const names = paths.map((path) => path.slice(start.length));
  const room = Math.max(...names.map(({ length }) => length)) + 2;
  const count = Math.max(1, Math.floor((width - 2) / room));
  const lines = Math.min(maxLines, Math.ceil(names.length / count));
  const shown = names.slice(0, count * lines);
  const more = names.length - shown.length;
  return [
    `  ${paths.length} resources at ${url}${start === "" ? "" : `${start}…`}`,
    ...Array.from(
      { length: lines },
      (_, line) =>
        `  ${
          shown.filter((_, index) => index % lines === line).map((name) => name.padEnd(room))
            .join("").trimEnd()
        }`,
    ),
    ...more === 0 ? [] : [`  … and ${more} more: all are listed at ${url}${indexPath}`],
  ];
}

/** A client cannot connect to the address that stands for every address. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

/** Names come from a database: a control character could rewrite the terminal. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, "\ufffd");
}

function tokenLines(rights: CliRights | null): readonly string[] {
  if (rights === null || rights.token === null) return [];
  const what = rights.readsNeedToken ? "Requests need" : "Writes need";
  return ["", `${what} the header  Authorization: Bearer ${rights.token}`];
}

function accountLines(accountsIn: string | undefined, url: string): readonly string[] {
  if (accountsIn === undefined) return [];
  return [
    "",
    `Accounts are in ${printable(accountsIn)}: add one by  users add EMAIL, log in at`,
    `  ${url}/api/auth/login`,
  ];
}

function exampleCommand(url: string, rights: CliRights | null): string {
  const header = rights?.readsNeedToken === true && rights.token !== null
    ? ` -H ${shellQuote(`Authorization: Bearer ${rights.token}`)}`
    : "";
  // `-g`: curl would take brackets of an IPv6 address or of a filter for a pattern.
  return `curl -g${header} ${shellQuote(url)}`;
}

/**
 * Quotes a string for the example command of the banner: in every POSIX shell, all characters but the
 * quote itself are literal in single quotes.
 */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
