import { consoleObserver } from "../runtime/console_observer.ts";
import { observedRuntime } from "../runtime/observed_runtime.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { systemRuntime } from "../runtime/system_runtime.ts";
import { serveApp } from "../app/serve.ts";
import type { ServeCommand } from "./serve_arguments.ts";
import { addressOf, prepareService } from "./prepare_service.ts";
import { exitWithParent } from "./restart_with_kv.ts";
import { openReopening, withSharedSecrets } from "./reopen/reopening_service.ts";
import { bannerOf, type OpenService, openService, runService } from "./run_service.ts";
import { makeServiceToken } from "./workers/worker_share.ts";

export async function runServeCommand(command: ServeCommand, version: string): Promise<number> {
  const runtime = systemRuntime(consoleObserver());
  exitWithParent(runtime.clock);
  const token = makeServiceToken(runtime.random);
  const secret = makeServiceToken(runtime.random);
  async function open(runtime: Runtime, isFirst: boolean): Promise<OpenService> {
    const service = await prepareService(command, { runtime, token, isReread: !isFirst });
    const shared = { secret, endsWith: isFirst ? "this process" : null };
    const config = withSharedSecrets(
      service.config,
      shared,
      observedRuntime(service.config, runtime),
    );
    return await openService({ ...service, config });
  }
  return await runService(
    command,
    () => openReopening({ open, watches: command.watchSchema, takesSignals: true, runtime }),
    async (opened) => {
      const { app, service: { config } } = opened;
      const { host, port } = addressOf(command, config);
      return await serveApp(app, {
        ...config,
        host,
        port,
        // The banner goes to the standard output, observations as JSON to the standard error.
        onListen(server) {
          console.log(bannerOf(opened, { version, host, port: server.port }));
          config.onListen?.(server);
        },
      }, observedRuntime(config, runtime));
    },
  );
}
