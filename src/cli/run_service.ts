import { type App, createApp } from "../app/app.ts";
import { withoutSecrets } from "../engines/server_url.ts";
import { type Server, urlOf } from "../listen/listener.ts";
import type { CliRights, CliService } from "./cli_service.ts";
import { defaultStoreFile } from "./command_options.ts";
import { programName } from "../runtime/program_name.ts";
import { printable, reportFailure } from "./printable.ts";
import type { ServeCommand } from "./serve_arguments.ts";
import { dashboardPath } from "../service/dashboard/dashboard_path.ts";

export interface OpenService {
  readonly service: CliService;
  readonly app: App;
  readonly current?: () => Promise<void>;
}

/** Creates the app. Without the option `web`, `GET /` redirects to the list of all resources. */
export async function openService(service: CliService): Promise<OpenService> {
  const app = await createApp(service.config);
  const indexPath = indexPathOf(service);
  if (indexPath !== "/" && service.config.web === undefined) {
    // A proxy may have mounted this app at a path, so the redirect is relative.
    app.hono.get("/", (context) => context.redirect(`.${indexPath}`));
  }
  return { service, app };
}

function indexPathOf({ config }: CliService): string {
  return `${config.basePath ?? "/api"}/`;
}

export function bannerOf(
  { service, app }: OpenService,
  start: Pick<BannerContents, "version" | "host" | "port">,
): string {
  const { subject, rights, accountsIn, streams, exampleQuery } = service;
  const paths = app.resources.map((resource) => resource.url);
  const example = paths[0] === undefined ? "/healthz" : paths[0] + exampleQuery;
  const hasDashboard = Boolean(service.config.adminUI);
  const indexPath = indexPathOf(service);
  const hasPage = service.config.web !== undefined;
  const facts = {
    ...start,
    hasPage,
    subject,
    paths,
    rights,
    accountsIn,
    streams,
    hasDashboard,
    example,
  };
  return banner({ ...facts, indexPath });
}

export async function runService(
  { database }: Pick<ServeCommand, "database">,
  open: () => Promise<OpenService>,
  serve: (opened: OpenService) => Promise<Server>,
): Promise<number> {
  let opened: OpenService;
  try {
    opened = await open();
  } catch (error) {
    return reportFailure(error, 2, database);
  }
  try {
    const server = await serve(opened);
    await server.finished;
    return 0;
  } catch (error) {
    return reportFailure(error, 1, database);
  }
}

export interface BannerContents
  extends Pick<CliService, "subject" | "rights" | "accountsIn" | "streams"> {
  readonly version: string;
  readonly host: string;
  readonly port: number;
  /** The percent-encoded paths of the resources. */
  readonly paths: readonly string[];
  readonly indexPath: string;
  readonly hasDashboard?: boolean | undefined;
  readonly hasPage?: boolean | undefined;
  readonly example: string;
}

export function banner(facts: BannerContents): string {
  const url = urlOf(reachableHost(facts.host), facts.port);
  const { paths, rights } = facts;
  const more = paths.length - maxPaths;
  return [
    `resource-api ${facts.version}: serving ${printable(facts.subject)}`,
    "",
    ...paths.slice(0, maxPaths).map((path) => `  ${url}${path}`),
    ...more <= 0 ? [] : [`  … and ${more} more: all are listed at ${url}${facts.indexPath}`],
    `  ${url}/healthz`,
    ...(facts.hasPage ? ["", `Page: ${url}/`] : []),
    ...(facts.hasDashboard ? ["", `Dashboard: ${url}${dashboardPath}${loginHint(facts)}`] : []),
    ...tokenLines(rights),
    ...accountLines(facts.accountsIn, url),
    ...facts.streams === undefined ? [] : ["", `${printable(facts.streams)}.`],
    "",
    "Try:",
    `  ${exampleCommand(url + facts.example, rights)}`,
    "",
  ].join("\n");
}

function loginHint({ accountsIn }: BannerContents): string {
  return accountsIn === undefined
    ? ""
    : " (for accounts with the role administrator, operator or viewer)";
}

/** A longer list would scroll the banner off the screen. */
const maxPaths = 30;

/** Returns the loopback address for an unspecified address, to which no client can connect. */
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
  const place = printable(withoutSecrets(accountsIn));
  return [
    "",
    `Accounts are in ${place}: add one, and log in at`,
    `  ${programName()} users add EMAIL${accountsIn === defaultStoreFile ? "" : ` --kv ${place}`}`,
    `  ${url}/api/auth/login`,
  ];
}

function exampleCommand(url: string, rights: CliRights | null): string {
  const header = rights?.readsNeedToken === true && rights.token !== null
    ? ` -H ${shellQuote(`Authorization: Bearer ${rights.token}`)}`
    : "";
  // `-g` keeps curl from expanding the brackets of an IPv6 address or a filter.
  return `curl -g${header} ${shellQuote(url)}`;
}

/** Quotes a string for a POSIX shell, in which single quotes make all other characters literal. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
