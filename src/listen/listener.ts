import { createFallbackListener } from "./fallback_listener.ts";
import { type Described, group, type ReadGroup } from "../options/option.ts";
import { callback, flag, textLike, timerMs, whole } from "../options/option_kinds.ts";
import { ResponseAborted } from "../problem/response_aborted.ts";
import { Problem } from "../problem/problem.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** What a listener can serve; an app is one. */
export interface Listenable {
  fetch(request: Request, info: Deno.ServeHandlerInfo): Response | Promise<Response>;
  /** Called when it begins to stop: from now on `/readyz` answers 503. */
  announceStop?(): void;
  /** Called when no more connections are accepted, and each ends with its answer: live streams end. */
  drain(): void;
  /** Called once connections are accepted. */
  warmUp?(): void;
  close(): Promise<void>;
}

/** Where a listener accepts connections, and how it stops. */
export interface ListenOptions {
  /** 8000 by default; 0 takes a free one. */
  readonly port?: number | undefined;
  /** The address to bind; `127.0.0.1` by default, so that nothing is open by accident. */
  readonly host?: string | undefined;
  /**
   * True if other processes of this user may listen on the same port, with this option as well: the
   * system shares new connections out among them. Only Linux does, and Deno needs `--unstable-net`.
   */
  readonly reusePort?: boolean | undefined;
  /** Called once, instead of the observation, when connections are accepted. */
  readonly onListen?: ((server: Server) => void) | undefined;
  /** How long requests in flight may take after `stop()`; 10,000 by default. */
  readonly stopDeadlineMs?: number | undefined;
  /**
   * How long new connections are still accepted and served once it stops, so that a balancer sees
   * the 503 of `/readyz` before it meets a closed port; a part of `stopDeadlineMs`. Unless set, 3,000
   * after a SIGTERM under `serve`, else 0.
   */
  readonly drainMs?: number | undefined;
}

/** The options of a listener, described. */
export const listenOptions = {
  port: whole({ from: 0, to: 65_535 }).unlessSet(8000),
  host: textLike('an address to bind, like "127.0.0.1"', /^[!-.0-~]+$/).unlessSet("127.0.0.1"),
  reusePort: flag().unlessSet(false),
  onListen: callback<(server: Server) => void>(),
  stopDeadlineMs: timerMs().unlessSet(10_000),
  // The default depends on how the service stops.
  drainMs: whole({ from: 0, to: 2_147_483_647 }),
} satisfies Described<ListenOptions>;

/** The options of a listener, with their defaults. */
export type ResolvedListenOptions = ReadGroup<typeof listenOptions>;

/** A running listener. */
export interface Server {
  /** With the port in use, e.g. `http://127.0.0.1:8000`. */
  readonly url: string;
  /** The port in use, even where the option was 0. */
  readonly port: number;
  /** Resolves when everything is stopped and closed. */
  readonly finished: Promise<void>;
  /**
   * Accepts nothing new after `drainMs`, which is 0 unless it is an option, lets requests in flight
   * finish, closes the app. Until then answers ask for the end of their connection (`Connection:
   * close`), so that the next request goes to another process. Safe to call twice.
   */
  stop(drainMs?: number): Promise<void>;
}

/**
 * Starts a listener that serves `app`, and listens again when it fails: `Deno.serve` ends for good
 * when the process runs out of file descriptors, which any client can cause with idle connections.
 * Until some are free, `/healthz` is answered on the same port by means of those in reserve.
 * Throws an Error with the reason when the first attempt fails, e.g. because the port is taken.
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
  const fallback = createFallbackListener({
    address,
    answer: serving.answer,
    clock: runtime.clock,
  });
  /** Null after the listener has failed. */
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
        await fallback.serveUntilFree(retryInMs);
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
    fallback.stop();
    const openMs = Math.min(drainMs, stopDeadlineMs);
    if (openMs > 0) await waitFor(openMs, runtime);
    const finished = socket?.shutdown();
    // Before, the client of a stream that ends would be refused its next one, on this connection.
    app.drain();
    await untilDeadline(finished, stopDeadlineMs - openMs, runtime);
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

/** The options of a listener, with their defaults, in a configuration that may have others as well. */
export function readListenOptions(options: ListenOptions): ResolvedListenOptions {
  const { port, host, reusePort, onListen, stopDeadlineMs, drainMs } = options;
  const place = { subject: "Cannot listen", path: "" };
  const given = { port, host, reusePort, onListen, stopDeadlineMs, drainMs };
  return group(listenOptions).required().read(given, place);
}

/** The URL of a listener: `http://127.0.0.1:8000`, `http://[::1]:8000`. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

const retryInMs = 200;

type Socket = Deno.HttpServer<Deno.NetAddr>;

/** Where a socket listens. */
interface Address {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort: boolean;
}

type Answer = Listenable["fetch"];

interface Serving {
  readonly answer: Answer;
  readonly runtime: Runtime;
}

function firstSocket(address: Address, serving: Serving): Socket {
  try {
    if (address.reusePort && !canReusePorts()) {
      throw new Error("reusePort needs Deno with --unstable-net");
    }
    return openSocket(address, serving);
  } catch (cause) {
    throw cannotListen(address, cause);
  }
}

/** Deno would end the process without the flag, and has this function with it only. */
export function canReusePorts(): boolean {
  return "listenDatagram" in Deno;
}

/** The error of one sentence for an address where the system refused a listener. */
export function cannotListen(
  { hostname, port }: Pick<Address, "hostname" | "port">,
  cause: unknown,
): Error {
  return new Error(`Cannot listen on ${urlOf(hostname, port)}: ${whyNot(cause)}`, { cause });
}

function whyNot(cause: unknown): string {
  if (cause instanceof Deno.errors.AddrInUse) return "the port is taken";
  if (cause instanceof Deno.errors.AddrNotAvailable) return "this machine has no such address";
  if (cause instanceof Deno.errors.PermissionDenied) return "the system does not allow this port";
  return cause instanceof Error ? cause.message : String(cause);
}

function openSocket(address: Address, { answer, runtime }: Serving): Socket {
  return Deno.serve({
    ...address,
    // Suppresses Deno's own line in the output of every test and every container.
    onListen() {},
    // An app answers its own failures; any other error must not show a stack to the client.
    onError(error) {
      if (!(error instanceof ResponseAborted)) {
        runtime.observe({ kind: "request_failed", method: "?", path: "?", error });
      }
      return internalError();
    },
  }, answer);
}

/** The same response, after which the client ends the connection, and opens its next one elsewhere. */
function endingConnection(response: Response): Response {
  // That of an upgrade has no connection left to end, and cannot be copied.
  if (response.status === 101) return response;
  // The headers of a response that a route has fetched cannot be changed.
  const headers = new Headers(response.headers);
  headers.set("connection", "close");
  return new Response(response.body, { status: response.status, headers });
}

function internalError(): Response {
  const problem = new Problem("internal-error", "The request could not be answered");
  return new Response(JSON.stringify(problem.toBody()), {
    status: problem.status,
    headers: { "content-type": "application/problem+json" },
  });
}

function waitFor(ms: number, { clock }: Runtime): Promise<void> {
  return new Promise((resolve) => clock.after(ms, resolve));
}

/**
 * Deno cannot close the connections of a listener that is shutting down (an abort throws then), so
 * that after the deadline they stay until the client or the process ends.
 */
async function untilDeadline(
  finished: Promise<void> | undefined,
  deadlineMs: number,
  { clock }: Runtime,
): Promise<void> {
  const deadline = Promise.withResolvers<void>();
  const cancel = clock.after(deadlineMs, deadline.resolve);
  await Promise.race([finished, deadline.promise]);
  cancel();
}
