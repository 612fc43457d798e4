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
import { defaultStore } from "./account_arguments.ts";
import { findConfiguration, loadConfiguration } from "./configuration_file.ts";
import { exitWithParent } from "./restart_with_kv.ts";
import type { CliService } from "./cli_service.ts";

/**
 * Runs the command that serves, until the process receives a signal to stop; returns the exit code.
 */
export async function runServeCommand(command: ServeCommand, version: string): Promise<number> {
  const runtime = systemRuntime(consoleObserver());
  exitWithParent(runtime.clock);
  let service: CliService;
  let app: App;
  try {
    service = await prepare(command, runtime);
    app = await createApp(service.config);
  } catch (error) {
    return report(error, error instanceof DatabaseError ? 1 : 2);
  }
  try {
    const server = await listen(app, { service, command, runtime, version });
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
      rights: null,
      exampleQuery: "?limit=3",
    };
  }
  const rights = decideCliRights({
    host: command.host ?? defaultHost,
    public: command.public,
    // The demonstration is in memory, so that it needs no --write, only the token.
    writable: command.write || database === null,
  }, runtime.random);
  if (database === null) {
    const { serveDemonstration } = await import("./serve_demonstration.ts");
    return await serveDemonstration(rights, runtime);
  }
  const { serveDatabase: serveInstantly } = await import("./serve_database.ts");
  const accountsIn = command.users ? command.kv ?? defaultStore : undefined;
  return await serveInstantly({ place: database, accountsIn }, rights, runtime);
}

const defaultHost = "127.0.0.1";

interface ServeContext {
  readonly service: CliService;
  readonly command: ServeCommand;
  readonly runtime: Runtime;
  readonly version: string;
}

async function listen(app: App, context: ServeContext): Promise<Server> {
  const { service, command, runtime, version } = context;
  const host = command.host ?? service.config.host ?? defaultHost;
  const paths = app.resources.map((resource) => resource.url);
  return await serveApp(app, {
    host,
    port: command.port ?? service.config.port,
    // Plain text on the standard output, which can be piped; observations are JSON on the standard
    // error.
    onListen({ port }) {
      console.log(banner({
        version,
        subject: service.subject,
        host,
        port,
        paths,
        rights: service.rights,
        accountsIn: service.accountsIn,
        example: paths[0] === undefined ? "/healthz" : paths[0] + service.exampleQuery,
      }));
    },
  }, service.config.runtime ?? runtime);
}

/**
 * A plain Error has a message about a mistake of the user's; any other error is a fault of this
 * program, and shows its stack.
 */
export function report(error: unknown, exitCode: number): number {
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
