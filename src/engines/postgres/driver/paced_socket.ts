import { Socket } from "node:net";
import { sleep } from "../../../runtime/event_loop.ts";

/** Where a client of postgres.js connects to: what its option `socket` is called with. */
export interface SocketTarget {
  /** Several where the URL names several servers. */
  readonly host: readonly string[];
  readonly port: readonly number[];
  /** Of a Unix socket, in place of the other two; false for none. */
  readonly path: string | false;
  readonly ssl: unknown;
}

const defaultPort = 5432;
/** So many bytes are received without a pause. */
const bytesOfBurst = 128 * 1024;

/**
 * Creates what makes the sockets of one client of postgres.js. They pause for a moment after each
 * burst of bytes: while a server sends megabytes there is always more to read, and Deno then looks at
 * its other sockets only now and then, which delayed other requests by half a second. With TLS there
 * are no pauses, because the library reads from a socket of its own then.
 */
export function pacedSockets(): (target: SocketTarget) => Socket {
  let attempts = 0;
  return ({ host, port, path, ssl }) => {
    const socket = new Socket();
    pauseAfterBursts(socket);
    if (path !== false) return socket.connect(path);
    const at = attempts++ % host.length;
    const server = { host: host[at] ?? "localhost", port: port[at] ?? defaultPort };
    // As the library names them on its own sockets: TLS takes the name of the server from there.
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
    // Only a real timer lets the event loop look at everything else.
    void sleep(0).then(() => socket.resume());
  });
}
