import { urlOf } from "../listen/listener.ts";
import { dashboardPath } from "../service/dashboard/dashboard_path.ts";
import type { CliRights } from "./cli_rights.ts";
import { printable } from "./printable.ts";

/** The contents of the banner, which the command line prints when the service starts. */
export interface BannerContents {
  readonly version: string;
  /** The text after "Serving" in the banner, for example `shop.db, read-only`. */
  readonly subject: string;
  readonly host: string;
  readonly port: number;
  /** The paths of the resources, percent-encoded. */
  readonly paths: readonly string[];
  /** The path of the index of all resources. The path of every resource starts with this prefix. */
  readonly indexPath: string;
  /** The width of the terminal, in characters. */
  readonly width: number;
  /** The rights of callers, or null if a configuration file defines the access. */
  readonly rights: CliRights | null;
  /** The file that stores the accounts, or undefined if the service has no accounts. */
  readonly accountsIn?: string | undefined;
  /** A sentence that says which changes live streams show. */
  readonly streams?: string | undefined;
  readonly hasDashboard?: boolean | undefined;
  /** The path and query of the example request. */
  readonly example: string;
}

/** Returns the banner: the resources, their address, the token and a working example command. */
export function banner(facts: BannerContents): string {
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

/** With more resources than this number, the banner lists them in columns. */
const maxPaths = 12;

/** The maximum number of lines for the list. More lines would scroll the banner off the screen. */
const maxLines = 30;

/** Formats the resources in columns below their common URL. Columns are read downwards. */
function resourceColumns(
  { paths, indexPath, width }: BannerContents,
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

/** Returns a reachable host. Clients cannot connect to the unspecified address (`::`). */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
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
  // Without `-g`, curl would expand the brackets of an IPv6 address or of a filter.
  return `curl -g${header} ${shellQuote(url)}`;
}

/** Quotes a string for a POSIX shell. Single quotes make all other characters literal. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
