import { type Described, group } from "../options/option.ts";
import { callback, flag, textLike, timerMs, whole } from "../options/option_kinds.ts";
import { ResponseAborted } from "../problem/response_aborted.ts";
import { Problem, problemReply } from "../problem/problem.ts";
import { type Runtime, sleep } from "../runtime/runtime.ts";
import { placeOfPortVariable } from "../runtime/port_variable.ts";
import { hasSpareDescriptors } from "../runtime/spare_descriptors.ts";

export interface Listenable {
  fetch(request: Request, info: Deno.ServeHandlerInfo): Response | Promise<Response>;
  /** Called when the listener begins to stop: `/readyz` must then respond with 503. */
  announceStop?(): void;
  /** Called when the listener accepts no more connections: the app must end its streams. */
  drain(): void;
  warmUp?(): void;
  /** Called at a SIGHUP. Without this function, the signal ends the process. */
  readonly hangUp?: (() => void) | undefined;
  close(): Promise<void>;
}

/** Where a listener listens, and how it stops. */
export interface ListenOptions {
  /** The TCP port; 0 selects a free one. Default: 8000. */
  readonly port?: number | undefined;
  /** The address to listen on. Default: `127.0.0.1`, which other machines cannot reach. */
  readonly host?: string | undefined;
  /**
   * True to share the port and its connections with other processes of this user that also set this
   * option. Works only on Linux, and Deno needs `--unstable-net`. Default: false.
   */
  readonly reusePort?: boolean | undefined;
  /** Called when the listener starts. Without this function, the observer receives `listening`. */
  readonly onListen?: ((server: Server) => void) | undefined;
  /** How long requests can take to finish after `stop()`, in milliseconds. Default: 10,000. */
  readonly stopDeadlineMs?: number | undefined;
  /**
   * Milliseconds between `stop()` and the closing of the port. New connections are still served, so
   * that a load balancer sees the 503 of `/readyz` first. This time is a part of `stopDeadlineMs`.
   * Default: 3,000 after a SIGTERM under `serve`, otherwise 0.
   */
  readonly drainMs?: number | undefined;
}

export const listenOptionRules = {
  port: whole({ from: 0, to: 65_535 }).default(8000),
  host: textLike('an address to bind, like "127.0.0.1"', /^[!-.0-~]+$/).default("127.0.0.1"),
  reusePort: flag().default(false),
  onListen: callback<(server: Server) => void>(),
  stopDeadlineMs: timerMs().default(10_000),
  // No default is set here, because the default depends on how the service is stopped.
  drainMs: whole({ from: 0, to: 2_147_483_647 }),
} satisfies Described<ListenOptions>;

/** A running listener. */
export interface Server {
  /** The URL with the port in use, e.g. `http://127.0.0.1:8000`. */
  readonly url: string;
  /** The port in use. If the option `port` is 0, the system chooses a free port. */
  readonly port: number;
  /** Resolves when everything is stopped and closed. */
  readonly finished: Promise<void>;
  /**
   * Stops accepting connections after `drainMs` (default: the option `drainMs`, or 0), lets
   * requests finish, and closes the app. During the stop, responses contain `Connection: close`, so
   * that clients send their next request to another process. A second call does nothing.
   */
  stop(drainMs?: number): Promise<void>;
}

/**
 * Starts a listener that serves `app`. If the process runs out of file descriptors, `Deno.serve`
 * stops forever, so the listener listens again when descriptors are free. Throws an Error if the
 * first attempt fails, for example because the port is in use.
 */
export function listen(app: Listenable, options: ListenOptions, runtime: Runtime): Server {
  const { port: wanted, host, reusePort, onListen, stopDeadlineMs } = readListenOptions(options);
  let answer: Answer = (request, info) => app.fetch(request, info);
  const serving: Serving = { answer: (request, info) => answer(request, info), runtime };
  const first = firstSocket({ hostname: host, port: wanted, reusePort }, serving);
  const { port } = first.addr;
  const address = { hostname: host, port, reusePort };
  const url = urlOf(host, port);
  const finished = Promise.withResolvers<void>();
  let socket: Socket | null = first;
  let stopped: Promise<void> | null = null;

  async function supervise(): Promise<void> {
    while (stopped === null) {
      try {
        socket ??= listenAgain();
        await socket.finished;
      } catch (error) {
        socket = null;
        runtime.observe({ kind: "listener_failed", error, retryInMs });
        do await sleep(retryInMs); while (stopped === null && !hasSpareDescriptors(minSpare));
      }
    }
  }

  function listenAgain(): Socket {
    const again = openSocket(address, serving);
    runtime.observe({ kind: "listening", url });
    return again;
  }

  async function stopAll(drainMs: number): Promise<void> {
    runtime.observe({ kind: "draining" });
    app.announceStop?.();
    answer = async (request, info) => endingConnection(await app.fetch(request, info));
    const openMs = Math.min(drainMs, stopDeadlineMs);
    if (openMs > 0) await new Promise<void>((resolve) => runtime.clock.after(openMs, resolve));
    const finished = socket?.shutdown();
    // Ends the streams only after the shutdown has begun. Before it, their clients would open new
    // streams on the same connections, and the app would refuse these streams.
    app.drain();
    // Deno cannot close connections during a shutdown (an abort throws), so the wait has a limit.
    const deadline = Promise.withResolvers<void>();
    const cancel = runtime.clock.after(stopDeadlineMs - openMs, deadline.resolve);
    await Promise.race([finished, deadline.promise]);
    cancel();
    await app.close();
  }

  function stop(drainMs = options.drainMs ?? 0): Promise<void> {
    if (stopped === null) {
      stopped = stopAll(drainMs);
      finished.resolve(stopped);
    }
    return stopped;
  }

  const server: Server = { url, port, finished: finished.promise, stop };
  if (onListen === undefined) runtime.observe({ kind: "listening", url });
  else onListen(server);
  supervise();
  return server;
}

export function readListenOptions(options: ListenOptions) {
  const { port, host, reusePort, onListen, stopDeadlineMs, drainMs } = options;
  const place = { subject: "Cannot listen", path: "" };
  const given = { port, host, reusePort, onListen, stopDeadlineMs, drainMs };
  return group(listenOptionRules).required().read(given, place);
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

const retryInMs = 200;

/** A failed listener listens again when at least this many file descriptors are free. */
const minSpare = 16;

interface ListenAddress {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort: boolean;
}

type Socket = Deno.HttpServer<Deno.NetAddr>;

type Answer = Listenable["fetch"];

interface Serving {
  readonly answer: Answer;
  readonly runtime: Runtime;
}

function firstSocket(address: ListenAddress, serving: Serving): Socket {
  try {
    if (address.reusePort && !("listenDatagram" in Deno)) {
      throw new Error("reusePort needs Deno with --unstable-net");
    }
    return openSocket(address, serving);
  } catch (cause) {
    throw listenError(address, cause);
  }
}

export function listenError(
  { hostname, port }: Pick<ListenAddress, "hostname" | "port">,
  cause: unknown,
): Error {
  return new Error(`Cannot listen on ${urlOf(hostname, port)}: ${whyNot(port, cause)}`, { cause });
}

function whyNot(port: number, cause: unknown): string {
  if (cause instanceof Deno.errors.AddrInUse) {
    const place = placeOfPortVariable(port);
    const remedy = place === null ? "" : `; stop the other program, or change PORT in ${place}`;
    return `the port is taken${remedy}`;
  }
  if (cause instanceof Deno.errors.AddrNotAvailable) return "this machine has no such address";
  if (cause instanceof Deno.errors.PermissionDenied) return "the system does not allow this port";
  return cause instanceof Error ? cause.message : String(cause);
}

function openSocket(address: ListenAddress, { answer, runtime }: Serving): Socket {
  return Deno.serve({
    ...address,
    // Without this function, Deno prints a message at each start.
    onListen() {},
    // The app handles its own errors. Other errors must not show a stack trace to clients.
    onError(error) {
      if (!(error instanceof ResponseAborted)) {
        runtime.observe({ kind: "request_failed", method: "?", path: "?", error });
      }
      const problem = new Problem("internal-error", "The request could not be answered");
      const { status, headers, body } = problemReply(problem);
      return new Response(body, { status, headers });
    },
  }, answer);
}

function endingConnection(response: Response): Response {
  // After an upgrade (101), the connection no longer carries HTTP. Its response cannot be copied.
  if (response.status === 101) return response;
  // The headers of a response from `fetch` cannot be changed, so the response is copied.
  const headers = new Headers(response.headers);
  headers.set("connection", "close");
  return new Response(response.body, { status: response.status, headers });
}
