import { Problem } from "./problem/problem.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { pause } from "./runtime/system_runtime.ts";

/** What can stand behind a listener; an app is one. */
export interface Listenable {
  fetch(request: Request, info: Deno.ServeHandlerInfo): Response | Promise<Response>;
  /** From now on `/readyz` answers 503 and long streams end. */
  drain(): void;
  close(): Promise<void>;
}

/** Where to listen. */
export interface ListenOptions {
  /** 8000 by default; 0 takes a free one. */
  readonly port?: number | undefined;
  /** The address to bind; `127.0.0.1` by default, so that nothing is open by accident. */
  readonly host?: string | undefined;
  /** Called once, instead of the observation, when the first connection can come. */
  readonly onListen?: ((server: Server) => void) | undefined;
  /** How long requests in flight may take after `stop()`; 10,000 by default. */
  readonly stopDeadlineMs?: number | undefined;
}

/** A running listener. */
export interface Server {
  /** With the port that was really taken, e.g. `http://127.0.0.1:8000`. */
  readonly url: string;
  readonly port: number;
  /** Resolves when everything is stopped and closed. */
  readonly finished: Promise<void>;
  /** Accepts nothing new, lets requests in flight finish, closes the app. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Serves `app`, and listens again when the listener dies: `Deno.serve` gives up for good when the
 * process runs out of file descriptors, which any client can bring about with idle connections.
 * Throws an Error that says why when the first try fails, e.g. because the port is taken.
 */
export function listen(app: Listenable, options: ListenOptions, runtime: Runtime): Server {
  const { port = 8000, host = "127.0.0.1", onListen, stopDeadlineMs = 10_000 } = options;
  let socket = firstSocket(app, host, port, runtime);
  const url = urlOf(host, socket.port);
  let stopped: Promise<void> | null = null;

  async function supervise(): Promise<void> {
    while (stopped === null) {
      try {
        await socket.finished;
      } catch (error) {
        runtime.observe({ kind: "listener_failed", error, retryInMs });
      }
      if (stopped === null) await listenAgain();
    }
    await stopped;
  }

  async function listenAgain(): Promise<void> {
    await pause(retryInMs);
    if (stopped !== null) return;
    try {
      socket = openSocket(app, host, socket.port, runtime);
      runtime.observe({ kind: "listening", url });
    } catch (error) {
      // The dead socket's `finished` is settled, so that the loop comes back here.
      runtime.observe({ kind: "listener_failed", error, retryInMs });
    }
  }

  async function stopAll(): Promise<void> {
    runtime.observe({ kind: "draining" });
    app.drain();
    const cancel = runtime.clock.after(stopDeadlineMs, () => socket.abort());
    await socket.shutdown();
    cancel();
    await app.close();
  }

  const server: Server = {
    url,
    port: socket.port,
    finished: supervise(),
    stop: () => stopped ??= stopAll(),
  };
  if (onListen === undefined) runtime.observe({ kind: "listening", url });
  else onListen(server);
  return server;
}

/** `http://127.0.0.1:8000`, `http://[::1]:8000`. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

const retryInMs = 200;

interface Socket {
  readonly port: number;
  readonly finished: Promise<void>;
  shutdown(): Promise<void>;
  abort(): void;
}

function firstSocket(app: Listenable, host: string, port: number, runtime: Runtime): Socket {
  try {
    return openSocket(app, host, port, runtime);
  } catch (cause) {
    throw new Error(`Cannot listen on ${urlOf(host, port)}: ${whyNot(cause)}`, { cause });
  }
}

function whyNot(cause: unknown): string {
  if (cause instanceof Deno.errors.AddrInUse) return "the port is taken";
  if (cause instanceof Deno.errors.AddrNotAvailable) return "this machine has no such address";
  if (cause instanceof Deno.errors.PermissionDenied) return "the system does not allow this port";
  return cause instanceof Error ? cause.message : String(cause);
}

function openSocket(app: Listenable, hostname: string, port: number, runtime: Runtime): Socket {
  const controller = new AbortController();
  const server = Deno.serve({
    hostname,
    port,
    signal: controller.signal,
    // Deno's own line would stand in the output of every test and every container.
    onListen() {},
    // An app answers its own failures; what still comes here must not show a stack to a client.
    onError(error) {
      runtime.observe({ kind: "request_failed", method: "?", path: "?", error });
      return internalError();
    },
  }, (request, info) => app.fetch(request, info));
  return {
    port: server.addr.port,
    finished: server.finished,
    shutdown: () => server.shutdown(),
    abort: () => controller.abort(),
  };
}

function internalError(): Response {
  const problem = new Problem("internal-error", "The request could not be answered");
  return new Response(JSON.stringify(problem.toBody()), {
    status: problem.status,
    headers: { "content-type": "application/problem+json" },
  });
}
