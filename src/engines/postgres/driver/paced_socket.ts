import { Socket } from "node:net";
import { sleep } from "../../../runtime/event_loop.ts";

/** The argument of the option `socket` of postgres.js: the server to connect to. */
export interface SocketTarget {
  /** The host names of all servers in the URL. */
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** The path of a Unix socket, which replaces host and port. False for TCP. */
  readonly path: string | false;
  readonly ssl: unknown;
}

const defaultPort = 5432;
/** The number of bytes that a socket receives between two pauses. */
const bytesOfBurst = 128 * 1024;

/**
 * Returns the function that creates the sockets of a postgres.js client. Each socket pauses briefly
 * after a burst of bytes. Without the pauses, Deno rarely reads other sockets while a server sends
 * megabytes, which delayed other requests by half a second. With TLS there are no pauses, because
 * the library then reads from another socket.
 */
export function createPacedSocketFactory(): (target: SocketTarget) => Socket {
  let attempts = 0;
  return ({ host, port, path, ssl }) => {
    const socket = new Socket();
    pauseAfterBursts(socket);
    if (path !== false) return socket.connect(path);
    const at = attempts++ % host.length;
    const server = { host: host[at] ?? "localhost", port: port[at] ?? defaultPort };
    // TLS reads the server name from these members, which the library's own sockets also have.
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
    // A timer, unlike a microtask, lets the event loop handle all other events first.
    void sleep(0).then(() => socket.resume());
  });
}
