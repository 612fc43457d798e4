import { consoleObserver } from "../runtime/console_observer.ts";
import { systemRuntime } from "../runtime/system_runtime.ts";
import { serveApp } from "../serve.ts";
import type { ServeCommand } from "./serve_arguments.ts";
import { makeServiceToken } from "./cli_rights.ts";
import { addressOf, prepareService } from "./prepare_service.ts";
import { exitWithParent } from "./restart_with_kv.ts";
import { bannerOf, openService, runService } from "./run_service.ts";

/**
 * Runs the command that serves in this process, until it receives a signal to stop; returns the exit
 * code.
 */
export async function runServeCommand(command: ServeCommand, version: string): Promise<number> {
  const runtime = systemRuntime(consoleObserver());
  exitWithParent(runtime.clock);
  const preparation = { runtime, token: makeServiceToken(runtime.random) };
  return await runService(
    async () => await openService(await prepareService(command, preparation)),
    async (opened) => {
      const { app, service: { config } } = opened;
      const { host, port } = addressOf(command, config);
      return await serveApp(app, {
        ...config,
        host,
        port,
        // Plain text on the standard output, which can be piped; observations are JSON on the
        // standard error.
        onListen(server) {
          console.log(bannerOf(opened, { version, host, port: server.port }));
          config.onListen?.(server);
        },
      }, config.runtime ?? runtime);
    },
  );
}
