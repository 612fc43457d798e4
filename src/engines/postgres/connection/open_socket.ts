import { Buffer } from "node:buffer";
import { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { sleep } from "../../../runtime/runtime.ts";
import type { PostgresServer } from "./keywords.ts";
import { requiresTls, tlsFailure, type TlsRules } from "./connection_plan.ts";

/** The number of bytes that a socket receives between two pauses. */
const bytesOfBurst = 128 * 1024;

/** The message SSLRequest of the protocol. */
const tlsRequest = Buffer.from("0000000804d2162f", "hex");

/**
 * Opens a socket to a server, with TLS if `isEncrypted`. The socket pauses briefly after a burst of
 * bytes. Without the pauses, Deno rarely reads other sockets while a server sends megabytes, which
 * delayed other requests by half a second. An abort of `signal` destroys the socket until then.
 */
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
  // More bytes could be sent by someone else, before the encryption.
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

/** Returns true for the code of a lost connection, which says nothing about TLS. */
function isLoss(code: unknown): boolean {
  return ["ECONNRESET", "EPIPE", "CONNECTION_CLOSED", "CONNECT_TIMEOUT"].includes(String(code));
}

/** Returns the next event of a socket. Rejects if the socket fails or is closed before. */
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
