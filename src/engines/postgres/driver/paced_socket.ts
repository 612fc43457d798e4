import { Socket } from "node:net";
import { sleep } from "../../../runtime/event_loop.ts";

/** The argument of postgres.js's option `socket`: the server to which it connects. */
export interface SocketTarget {
  /** The host names of all servers in the URL. */
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** The path of a Unix socket, used instead of host and port. False for TCP. */
  readonly path: string | false;
  readonly ssl: unknown;
}

const defaultPort = 5432;
/** The number of bytes that a socket receives between two pauses. */
const bytesOfBurst = 128 * 1024;

/**
 * Returns the function that creates the sockets of a postgres.js client. Each socket pauses briefly
 * after it has received many bytes. Without the pauses, Deno rarely reads other sockets while a
 * server sends megabytes, which delayed other requests by half a second. TLS has no pauses, because
 * the library then reads from a TLS socket that wraps this one.
 */
export function createPacedSocketFactory(): (target: SocketTarget) => Socket {
  let attempts = 0;
  return ({ host, port, path, ssl }) => {
    const socket = new Socket();
    pauseAfterBursts(socket);
    if (path !== false) return socket.connect(path);
    const at = attempts++ % host.length;
    const server = { host: host[at] ?? "localhost", port: port[at] ?? defaultPort };
    // TLS takes the server's name from these members. The library's own sockets have them, too.
    return Object.assign(socket, server, { ssl }).connect(server);
  };
}

function pauseAfterBursts(socket: Socket): void {
  let received = 0;
  socket.on("data", ({ length }) => {
    received += length;
    if (received < bytesOfBurst) return;
    received = 0;
    socket.pause();
    // A timer, unlike a microtask, lets the event loop first handle all other events.
    void sleep(0).then(() => socket.resume());
  });
}
