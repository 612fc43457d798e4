import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { exitWithParent } from "../restart_with_kv.ts";
import { onHangUp, onStopSignals } from "../../listen/stop_signals.ts";
import { Supervisor, WorkerGroup } from "./supervisor.ts";
import { makeServiceToken } from "./worker_share.ts";

export interface SuperviseOptions {
  /** The URL of each worker's main module. */
  readonly program: string;
  readonly args: readonly string[];
  readonly count: number;
}

/**
 * Serves with several processes until a signal stops them, and replaces each one that ends. SIGHUP
 * replaces all, one by one. Returns the last exit code if no worker can be kept running.
 */
export async function superviseWorkers(options: SuperviseOptions): Promise<number> {
  const { program, args, count } = options;
  const runtime = systemRuntime(consoleObserver());
  const folder = await Deno.makeTempDir({ prefix: "resource-api-workers-" });
  const share = {
    count,
    token: makeServiceToken(runtime.random),
    secret: runtime.random.bytes(32).toBase64(),
    kv: `${folder}/service.kv`,
  };
  const group = new WorkerGroup({ program, args, share }, runtime);
  const supervisor = new Supervisor(group, runtime);
  const removeListeners = [
    onStopSignals((...signal) => supervisor.stop(...signal)),
    onHangUp(() => supervisor.replaceAll(), () => supervisor.stop("SIGTERM", false)),
  ];
  exitWithParent(runtime.clock);
  try {
    return await supervisor.run(count);
  } finally {
    await group.stop("SIGINT");
    for (const remove of removeListeners) remove();
    await Deno.remove(folder, { recursive: true });
  }
}
