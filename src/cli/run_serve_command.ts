import { type App, createApp } from "../app.ts";
import { DatabaseError } from "../db/database_error.ts";
import type { Server } from "../listener.ts";
import { consoleObserver } from "../runtime/console_observer.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { systemRuntime } from "../runtime/system_runtime.ts";
import { serveApp } from "../serve.ts";
import { decideCliRights } from "./cli_rights.ts";
import type { ServeCommand } from "./arguments.ts";
import { banner } from "./banner.ts";
import { findConfiguration, loadConfiguration } from "./configuration_file.ts";
import { exitWithParent } from "./restart_with_kv.ts";
import type { CliService } from "./cli_service.ts";

/** Serves until the process is told to stop; gives the exit code. */
export async function runServeCommand(command: ServeCommand, version: string): Promise<number> {
  const runtime = systemRuntime(consoleObserver());
  exitWithParent(runtime.clock);
  let served: CliService;
  let app: App;
  try {
    served = await prepare(command, runtime);
    app = await createApp(served.config);
  } catch (error) {
    return report(error, error instanceof DatabaseError ? 1 : 2);
  }
  try {
    const server = await listen(app, { served, command, runtime, version });
    await server.finished;
    return 0;
  } catch (error) {
    return report(error, 1);
  }
}

async function prepare(command: ServeCommand, runtime: Runtime): Promise<CliService> {
  const { database } = command;
  const path = command.config ?? (database === null ? await findConfiguration() : null);
  if (path !== null) {
    if (command.public) {
      throw new Error(`Cannot serve ${path} with --public: a configuration has its own auth`);
    }
    const config = await loadConfiguration(path);
    return {
      config: { runtime, ...config },
      subject: path,
      access: null,
      exampleQuery: "?limit=3",
    };
  }
  const access = decideCliRights({
    host: command.host ?? defaultHost,
    public: command.public,
    // The demonstration is in memory, so that its writes need no leave but the token.
    writable: command.write || database === null,
  }, runtime.random);
  if (database === null) {
    const { serveDemonstration } = await import("./serve_demonstration.ts");
    return await serveDemonstration(access, runtime);
  }
  const { serveDatabase: serveInstantly } = await import("./serve_database.ts");
  return await serveInstantly(database, access, runtime);
}

const defaultHost = "127.0.0.1";

interface Circumstances {
  readonly served: CliService;
  readonly command: ServeCommand;
  readonly runtime: Runtime;
  readonly version: string;
}

async function listen(app: App, circumstances: Circumstances): Promise<Server> {
  const { served, command, runtime, version } = circumstances;
  const host = command.host ?? served.config.host ?? defaultHost;
  const paths = app.resources.map((resource) => resource.url);
  return await serveApp(app, {
    host,
    port: command.port ?? served.config.port,
    // Plain text on the standard output for people, who pipe too; observations are JSON there, on
    // the standard error.
    onListen({ port }) {
      console.log(banner({
        version,
        subject: served.subject,
        host,
        port,
        paths,
        access: served.access,
        example: paths[0] === undefined ? "/healthz" : paths[0] + served.exampleQuery,
      }));
    },
  }, served.config.runtime ?? runtime);
}

/**
 * A plain Error is somebody's mistake and made to be read; anything else is one of ours, and its
 * stack is what helps.
 */
function report(error: unknown, exitCode: number): number {
  const isMistake = error instanceof DatabaseError ||
    (error instanceof Error && error.constructor === Error);
  console.error(isMistake ? messageOf(error) : Deno.inspect(error));
  return isMistake ? exitCode : 1;
}

function messageOf(error: Error): string {
  if (error.cause instanceof Deno.errors.AddrInUse) {
    return `${error.message}; try --port 0, which takes a free one`;
  }
  if (!(error instanceof DatabaseError)) return error.message;
  const reason = error.cause instanceof Error ? error.cause.message : error.kind;
  return `Cannot use the database: ${reason}`;
}
