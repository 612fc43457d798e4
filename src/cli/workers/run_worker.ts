import process from "node:process";
import { type App, databasesOfApp } from "../../app/app.ts";
import { type Listenable, readListenOptions, type Server } from "../../listen/listener.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { observedRuntime } from "../../runtime/observed_runtime.ts";
import { type Runtime, sleep } from "../../runtime/runtime.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { serveApp, type ServeConfig } from "../../app/serve.ts";
import type { ServeCommand } from "../serve_arguments.ts";
import { addressOf, prepareService } from "../prepare_service.ts";
import { openReopening, withSharedSecrets } from "../reopen/reopening_service.ts";
import { bannerOf, type OpenService, openService, runService } from "../run_service.ts";
import { GatheredMetrics } from "./gathered_metrics.ts";
import { filterPort } from "./port_filter.ts";
import {
  enveloped,
  type LeftOutSocket,
  type ListenOrder,
  orderIn,
  type WorkerOrder,
  type WorkerReport,
} from "./worker_process.ts";
import type { WorkerShare } from "./worker_share.ts";
import { findDenoOpenKv } from "../../kv/deno_kv.ts";
import { isDatabaseUrl } from "../../kv/key_value_location.ts";
import type { CliService } from "../cli_service.ts";

interface WorkerContext {
  readonly command: ServeCommand;
  readonly version: string;
  readonly share: WorkerShare;
  readonly runtime: Runtime;
  readonly supervisor: SupervisorChannel;
}

export async function runWorker(
  command: ServeCommand,
  version: string,
  share: WorkerShare,
): Promise<number> {
  // A terminal sends SIGHUP to all processes, but only the supervisor acts on it.
  if (Deno.build.os !== "windows") Deno.addSignalListener("SIGHUP", () => {});
  const runtime = systemRuntime(consoleObserver({ worker: share.number }));
  const supervisor = openSupervisorChannel();
  let server: Server | null = null;
  void supervisor.lost.then(() => server === null ? Deno.exit() : server.stop(0));
  const context: WorkerContext = { command, version, share, runtime, supervisor };
  const exitCode = await runService(
    command,
    () =>
      openReopening({
        open: (runtime, isFirst) => openShared({ ...context, runtime }, isFirst),
        watches: command.watchSchema,
        takesSignals: false,
        runtime,
      }),
    async (opened) => server = await serveByOrder(opened, context),
  );
  await supervisor.metrics.end();
  return exitCode;
}

async function openShared(
  { command, share, runtime, supervisor }: WorkerContext,
  isFirst: boolean,
): Promise<OpenService> {
  const service = await prepareService(command, {
    ...{ runtime, token: share.token, kv: share.kv, isReread: !isFirst },
  });
  const endsWith = isFirst && share.number === 1 ? "these workers" : null;
  const shared = { secret: share.secret, endsWith };
  const secured = withSharedSecrets(
    service.config,
    shared,
    observedRuntime(service.config, runtime),
  );
  const config = supervisor.metrics.configured(secured);
  const opened = await openService({ ...service, config });
  try {
    if (share.count > 1) requireSharedStores(config);
    return opened;
  } catch (error) {
    await opened.app.close();
    throw error;
  }
}

async function serveByOrder(opened: OpenService, context: WorkerContext): Promise<Server> {
  const { command, version, runtime, supervisor } = context;
  const { app, service: { config } } = opened;
  void supervisor.report({
    kind: "prepared",
    ...addressOf(command, config),
    stopDeadlineMs: readListenOptions(config).stopDeadlineMs,
  });
  void untilReady(app).then(() => void supervisor.report({ kind: "ready" }));
  const { host, port } = await supervisor.listenOrder;
  const state: WorkerState = { isReplaced: false };
  const reportListening = (port: number) => {
    const banner = bannerOf(opened, { version, host, port });
    void supervisor.report({ kind: "listening", port, banner });
  };
  const server = await serveApp(replaceable(app, state, supervisor), {
    ...config,
    host,
    port,
    reusePort: true,
    onListen(server) {
      reportListening(server.port);
      config.onListen?.(server);
    },
  }, onListeningAgain(observedRuntime(config, runtime), () => reportListening(server.port)));
  supervisor.onOrder((order) => obey(order, { server, state, runtime }));
  return server;
}

function onListeningAgain(runtime: Runtime, work: () => void): Runtime {
  return {
    ...runtime,
    observe(observation) {
      runtime.observe(observation);
      if (observation.kind === "listening") work();
    },
  };
}

interface WorkerState {
  isReplaced: boolean;
}

function replaceable(app: App, state: WorkerState, supervisor: SupervisorChannel): Listenable {
  return {
    fetch: app.fetch,
    announceStop() {
      // While a worker is replaced, `/readyz` stays 200, because the service does not stop.
      if (!state.isReplaced) app.announceStop();
    },
    drain() {
      void supervisor.report({ kind: "left" });
      app.drain();
    },
    warmUp: () => app.warmUp(),
    close: () => app.close(),
  };
}

interface ServingWorker {
  readonly server: Server;
  readonly state: WorkerState;
  readonly runtime: Runtime;
}

function obey(order: WorkerOrder, worker: ServingWorker): void {
  const { server, state } = worker;
  switch (order.kind) {
    case "unfilter":
      return filter(worker, null);
    case "retire":
      filter(worker, order.filter);
      state.isReplaced = true;
      void server.stop(quietMs);
  }
}

/** Excludes a socket from new connections, so that closing the socket resets no connection. */
function filter({ server: { port }, runtime }: ServingWorker, leftOut: LeftOutSocket | null): void {
  try {
    filterPort(port, leftOut);
  } catch (error) {
    const message = `new connections are not kept from a worker that ends: ${error}`;
    runtime.observe({ kind: "notice", message });
  }
}

/** How long a replaced worker waits for queued connections and last requests, in ms. */
const quietMs = 1_000;

async function untilReady(app: App): Promise<void> {
  while (true) {
    const { status, body } = await app.fetch(new Request("http://localhost/readyz"));
    await body?.cancel();
    if (status !== 503) return;
    await sleep(askAgainMs);
  }
}

const askAgainMs = 250;

/** Throws an Error with a one-sentence message if workers cannot share a configured store. */
export function requireSharedStores(config: CliService["config"]): void {
  for (const { isShared, label } of databasesOfApp(config)) {
    if (isShared) continue;
    throw new Error(
      `Cannot start several workers on ${label}: it belongs to one process (use a SQLite file or ` +
        "Postgres, or --workers 1)",
    );
  }
  if (isInMemory(config.kv)) {
    throw new Error(
      "Cannot start several workers with the key-value store in memory: each would count requests " +
        'and know keys by itself (set kv: "service.kv" for a file, or use --workers 1)',
    );
  }
}

/** Returns true if the store is in memory. Without `--unstable-kv`, every path counts as memory. */
function isInMemory(kv: ServeConfig["kv"]): boolean {
  if (kv === undefined || kv === ":memory:") return true;
  return typeof kv === "string" && !isDatabaseUrl(kv) && findDenoOpenKv() === undefined;
}

export type SupervisorChannel = ReturnType<typeof openSupervisorChannel>;

export function openSupervisorChannel() {
  const listenOrder = Promise.withResolvers<ListenOrder>();
  const lost = Promise.withResolvers<void>();
  process.once("disconnect", lost.resolve);
  let take: (order: WorkerOrder) => void = () => {};
  const metrics = new GatheredMetrics(report);
  process.on("message", (message: unknown) => {
    const order = orderIn(message);
    if (order?.kind === "listen") listenOrder.resolve(order);
    else if (order?.kind === "measure" || order?.kind === "gathered") metrics.obey(order);
    else if (order !== null) take(order);
  });
  return {
    listenOrder: listenOrder.promise,
    lost: lost.promise,
    onOrder(taking: (order: WorkerOrder) => void) {
      take = taking;
    },
    metrics,
    report,
  };

  /** Sends a report. Resolves when the report is sent, or if the supervisor has ended. */
  function report(report: WorkerReport): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (!process.connected) return Promise.resolve();
    process.send?.(enveloped(report), () => resolve());
    return promise;
  }
}
