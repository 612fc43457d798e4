import { createApp } from "./app.ts";
import type { ServiceConfig } from "./config.ts";
import { listen, type Listenable, type ListenOptions, type Server } from "../listen/listener.ts";
import { observedRuntime } from "../runtime/observed_runtime.ts";
import { isDeno } from "../runtime/host.ts";
import { onHangUp } from "../listen/stop_signals.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** The configuration of {@link serve}: options of the app, of the listener and of the shutdown. */
export interface ServeConfig extends ServiceConfig, ListenOptions {}

/**
 * Serves an app: creates it, listens, and manages the process. The first SIGTERM or SIGINT stops
 * the app gracefully, and a second signal stops it immediately. An unhandled rejection, or an error
 * in a timer that a hook has started, is reported to the observer and does not end the process.
 *
 * @throws {Error} If an option is invalid or the port is taken.
 * @example
 * ```ts
 * import { integer, openDatabase, resource, serve, table, text } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
 * const db = await openDatabase("sqlite::memory:");
 * await db.createTables([notes]);
 * const server = await serve({
 *   db,
 *   port: 0,
 *   secret: "sixteen or more characters",
 *   resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
 * });
 * console.log(`${server.url}/api/notes`);
 * await server.stop();
 * ```
 */
export async function serve(config: ServeConfig): Promise<Server> {
  if (!isDeno) throw new Error(serveNeedsDeno);
  const runtime = observedRuntime(config);
  const app = await createApp({ ...config, observe: undefined, runtime });
  return await serveApp(app, config, runtime);
}

const serveNeedsDeno =
  "Cannot serve: serve() needs Deno. On Node and Bun, pass the fetch of createApp() to a server";

/** Serves an existing app as {@link serve} does. Closes the app if the listener cannot start. */
export async function serveApp(
  app: Listenable,
  options: ListenOptions,
  runtime: Runtime,
): Promise<Server> {
  try {
    const server = listen(app, {
      ...options,
      onListen(server) {
        // Add signal handlers first, because `onListen` can make a parent process send a signal.
        superviseProcess(server, { ...options, hangUp: app.hangUp }, runtime);
        if (options.onListen !== undefined) options.onListen(server);
        else runtime.observe({ kind: "listening", url: server.url });
      },
    }, runtime);
    app.warmUp?.();
    return server;
  } catch (error) {
    await app.close();
    throw error;
  }
}

function superviseProcess(
  server: Server,
  { drainMs, hangUp }: ListenOptions & Pick<Listenable, "hangUp">,
  runtime: Runtime,
): void {
  let isStopping = false;
  const stopHangUp = hangUp && onHangUp(hangUp, () => Deno.kill(Deno.pid, "SIGTERM"));
  // By default, SIGTERM first waits for load balancers. SIGINT does not: it comes from a keyboard.
  const stopByTerm = () => stopBySignal(drainMs ?? termDrainMs);
  const stopByHand = () => stopBySignal(drainMs ?? 0);
  const handlers = stopSignals().map((signal) =>
    [signal, signal === "SIGTERM" ? stopByTerm : stopByHand] as const
  );
  function stopBySignal(openMs: number): void {
    if (isStopping) return;
    isStopping = true;
    setTimeout(release, sameSignalMs).unref();
    server.stop(openMs).then(exitSoon, (error) => {
      runtime.observe({ kind: "unhandled_rejection", error });
      exitSoon();
    });
  }
  function release(): void {
    for (const [signal, handler] of handlers) Deno.removeSignalListener(signal, handler);
  }
  function observeRejection(event: PromiseRejectionEvent): void {
    event.preventDefault();
    runtime.observe({ kind: "unhandled_rejection", error: event.reason });
  }
  function observeError(event: ErrorEvent): void {
    event.preventDefault();
    runtime.observe({ kind: "uncaught_error", error: event.error });
  }

  for (const [signal, handler] of handlers) Deno.addSignalListener(signal, handler);
  globalThis.addEventListener("unhandledrejection", observeRejection);
  globalThis.addEventListener("error", observeError);
  const stopWatching = () => {
    // After a signal, a timer calls `release` later, so that a second signal is still ignored.
    if (!isStopping) release();
    stopHangUp?.();
    globalThis.removeEventListener("unhandledrejection", observeRejection);
    globalThis.removeEventListener("error", observeError);
  };
  server.finished.then(stopWatching, stopWatching);
}

function stopSignals(): readonly Deno.Signal[] {
  return Deno.build.os === "windows" ? ["SIGINT", "SIGBREAK"] : ["SIGINT", "SIGTERM"];
}

/** Time after SIGTERM in which load balancers see the 503 of `/readyz`, in milliseconds. */
const termDrainMs = 3_000;

/** Signals within this time, in ms, count as one: a terminal and a parent can send the same one. */
const sameSignalMs = 100;

/** Exits the process soon, even if an open stream or a timer would keep it alive. */
function exitSoon(): void {
  setTimeout(() => Deno.exit(0), exitDelayMs).unref();
}

/** The time in which code after `await server.finished` can still run, in milliseconds. */
const exitDelayMs = 500;
