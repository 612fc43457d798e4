import process from "node:process";
import { type App, createApp } from "../app/app.ts";
import { DatabaseError } from "../db/database_error.ts";
import type { Server } from "../listen/listener.ts";
import { banner, type BannerContents } from "./banner.ts";
import type { CliService } from "./cli_service.ts";
import { reportFailure } from "./printable.ts";

export interface OpenService {
  readonly service: CliService;
  readonly app: App;
  /** Resolves when the service uses the current tables. Absent if tables cannot change. */
  readonly current?: () => Promise<void>;
}

/** Opens the app of a prepared service. `GET /` redirects to the list of all resources. */
export async function openService(service: CliService): Promise<OpenService> {
  const app = await createApp(service.config);
  const indexPath = indexPathOf(service);
  if (indexPath !== "/") {
    // The redirect is relative, because a proxy may have mounted this app at a path.
    app.hono.get("/", (context) => context.redirect(`.${indexPath}`));
  }
  return { service, app };
}

function indexPathOf({ config }: CliService): string {
  return `${config.basePath ?? "/api"}/`;
}

/** Returns the banner of a service, with an address to which clients can connect. */
export function bannerOf(
  { service, app }: OpenService,
  start: Pick<BannerContents, "version" | "host" | "port">,
): string {
  const { subject, rights, accountsIn, streams, exampleQuery } = service;
  const paths = app.resources.map((resource) => resource.url);
  const example = paths[0] === undefined ? "/healthz" : paths[0] + exampleQuery;
  const hasDashboard = Boolean(service.config.adminUI);
  // The terminal width is undefined if the output is a pipe.
  const width = process.stdout.columns ?? 100;
  const indexPath = indexPathOf(service);
  const facts = { ...start, subject, paths, rights, accountsIn, streams, hasDashboard, example };
  return banner({ ...facts, indexPath, width });
}

/** Opens a service and serves until a signal stops the process. Returns the exit code. */
export async function runService(
  open: () => Promise<OpenService>,
  serve: (opened: OpenService) => Promise<Server>,
): Promise<number> {
  let opened: OpenService;
  try {
    opened = await open();
  } catch (error) {
    return reportFailure(error, error instanceof DatabaseError ? 1 : 2);
  }
  try {
    const server = await serve(opened);
    await server.finished;
    return 0;
  } catch (error) {
    return reportFailure(error, 1);
  }
}
