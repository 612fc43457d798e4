import postgres from "postgres";
import { Buffer } from "node:buffer";
import { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { sleep } from "../../../runtime/runtime.ts";
import type { PostgresServer } from "./keywords.ts";
import { type ConnectionPlan, requiresTls, tlsFailure, type TlsRules } from "./connection_plan.ts";
import { textValues } from "../driver/text_values.ts";
import type { Attempt } from "./server_choice.ts";

const bytesOfBurst = 128 * 1024;

/** The message SSLRequest of the protocol. */
const tlsRequest = Buffer.from("0000000804d2162f", "hex");

/** Opens a socket that pauses after each burst of bytes: else Deno rarely reads other sockets. */
export async function openSocket(
  server: PostgresServer,
  tls: TlsRules,
  isEncrypted: boolean,
  signal: AbortSignal,
): Promise<Socket> {
  const raw = new Socket();
  const abort = () => raw.destroy(signal.reason);
  if (signal.aborted) throw signal.reason;
  signal.addEventListener("abort", abort, { once: true });
  try {
    const isOpen = next(raw, "connect");
    if (server.path === null) raw.connect({ host: server.address, port: server.port });
    else raw.connect(server.path);
    await isOpen;
    const socket = isEncrypted ? await encrypt(raw, server, tls) : raw;
    pauseAfterBursts(socket);
    return socket;
  } catch (error) {
    raw.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

async function encrypt(raw: Socket, server: PostgresServer, tls: TlsRules): Promise<Socket> {
  const options = await tls.options(server);
  const response = next(raw, "data");
  raw.write(tlsRequest);
  // The cast is safe: a socket without an encoding emits bytes.
  const bytes = await response as Buffer;
  // An attacker could have inserted unencrypted bytes after the server's response of one byte.
  if (bytes.length !== 1) throw new Error(`${server.host} sent data before TLS`);
  if (bytes.toString() !== "S") {
    if (!requiresTls(tls.mode)) return raw;
    throw tlsFailure(`${server.host} has no TLS, and sslmode=${tls.mode} requires TLS`);
  }
  const socket = connectTls({ socket: raw, ...options });
  try {
    await next(socket, "secureConnect");
    return socket;
  } catch (error) {
    if (!(error instanceof Error) || "code" in error && isLoss(error.code)) throw error;
    const reason = `TLS with ${server.host}: ${error.message}${tls.advice}`;
    throw tlsFailure(reason, error);
  }
}

/** Returns true for the code of a lost connection. The loss does not mean that TLS failed. */
function isLoss(code: unknown): boolean {
  return ["ECONNRESET", "EPIPE", "CONNECTION_CLOSED", "CONNECT_TIMEOUT"].includes(String(code));
}

function next(socket: Socket, event: string): Promise<unknown> {
  const closed = connectionError("CONNECTION_CLOSED", "was closed");
  // A socket emits nothing more if it was destroyed while this module read a file.
  if (socket.destroyed) return Promise.reject(closed);
  return new Promise((resolve, reject) => {
    socket.once(event, resolve);
    socket.on("error", reject);
    socket.once("close", () => reject(closed));
  });
}

export function connectionError(code: string, event: string): Error {
  return Object.assign(new Error(`The connection ${event}`), { code });
}

function pauseAfterBursts(socket: Socket): void {
  let received = 0;
  socket.on("data", ({ length }) => {
    received += length;
    if (received < bytesOfBurst) return;
    received = 0;
    socket.pause();
    // A timer, unlike a microtask, lets the event loop handle all other events first.
    void sleep(0).then(() => socket.resume());
  });
}

export type LibraryClient = postgres.Sql;

interface LibraryClientOptions {
  readonly plan: ConnectionPlan;
  readonly attempt: Attempt;
  readonly settings: Readonly<Record<string, string | number>>;
  readonly limitMs: number;
  readonly signal: AbortSignal;
  /** True once the connection is open. The library opens later sockets only to cancel reads. */
  readonly isOpen: () => boolean;
  readonly notified: ((payload: string) => void) | undefined;
  readonly closed: () => void;
  readonly reported: (name: string) => void;
}

/** Creates a client whose sockets this module opens. The client ignores environment variables. */
export function createLibraryClient(options: LibraryClientOptions): LibraryClient {
  const { plan, attempt: { server }, limitMs, notified, closed } = options;
  // The library's type declarations lack some of these options.
  const given = {
    ...{ host: [server.host], port: [server.port], database: plan.database, username: plan.user },
    password: async () => await plan.password(server) ?? "",
    ...{ max: 1, prepare: !plan.isPooled, ssl: false, sslnegotiation: null },
    // Disables timers that could close a connection in the middle of a transaction.
    ...{ idle_timeout: 0, max_lifetime: null, max_pipeline: 100, backoff: 0, debug: false },
    connect_timeout: Math.ceil(limitMs / 1000),
    keep_alive: plan.keepAliveSeconds,
    ...{ fetch_types: false, publications: "", types: { text: textValues } },
    connection: options.settings,
    // Without this option, the library would read the environment. The option is removed below.
    target_session_attrs: "primary",
    ...{ onnotice: () => {}, onclose: closed, onparameter: options.reported },
    socket: socketOf(options),
    ...(notified === undefined ? {} : {
      onnotify: (_channel: string, payload: string) => notified(payload),
    }),
  };
  // The casts are safe: the library has the options above, and also accepts its parsed options.
  const { options: parsed } = postgres(given as unknown as postgres.Options<Types>);
  const all = { ...parsed, target_session_attrs: null } as unknown as postgres.Options<Types>;
  return postgres(all);
}

type Types = Record<string, postgres.PostgresType>;

function socketOf(options: LibraryClientOptions): () => Promise<Socket> {
  const { plan, attempt: { server, isEncrypted }, signal } = options;
  let isFirst = true;
  return async () => {
    // Throws, because the library would reconnect forever if a proxy closes each new connection.
    if (!isFirst && !options.isOpen()) {
      throw connectionError("CONNECTION_CLOSED", "was closed while it was opened");
    }
    const ending = isFirst ? signal : new AbortController().signal;
    isFirst = false;
    return await openSocket(server, plan.tls, isEncrypted, ending);
  };
}

export function isFromServer(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  // Falls back to the localized severity, which older servers and some poolers send alone.
  return (error.severity ?? error.severity_local) === "ERROR";
}
