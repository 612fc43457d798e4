/**
 * Sockets that are only read. On Linux, the C library reads all sockets that are ready in one turn,
 * because a thousand reads by Deno would take longer than the measured work.
 */
export interface LiveSockets extends AsyncDisposable {
  /** Sends a string, and calls back with received bytes, which are overwritten after the call. */
  connect(port: number, text: string, take: (bytes: Uint8Array) => void): Promise<void>;
}

/** Opens the fastest sockets that the system offers. */
export function openSockets(): LiveSockets {
  return Deno.build.os === "linux" ? epollSockets() : denoSockets();
}

function epollSockets(): LiveSockets {
  const library = Deno.dlopen("libc.so.6", {
    socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
    connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
    send: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
    recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
    close: { parameters: ["i32"], result: "i32" },
    epoll_create1: { parameters: ["i32"], result: "i32" },
    epoll_ctl: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
    epoll_wait: { parameters: ["i32", "buffer", "i32", "i32"], result: "i32", nonblocking: true },
  });
  const c = library.symbols;
  const epoll = c.epoll_create1(0);
  const readers = new Map<number, (bytes: Uint8Array) => void>();
  const events = new DataView(new ArrayBuffer(eventBytes * maxEvents));
  const buffer = new Uint8Array(64 * 1024);
  let isOpen = true;
  const reading = readOn();

  async function readOn(): Promise<void> {
    while (isOpen) {
      const ready = await c.epoll_wait(epoll, events.buffer, maxEvents, 20);
      for (let at = 0; at < ready; at++) {
        const socket = events.getInt32(at * eventBytes + dataOffset, true);
        const length = Number(c.recv(socket, buffer, BigInt(buffer.length), dontWait));
        if (length > 0) readers.get(socket)?.(buffer.subarray(0, length));
        // The server has closed the socket. The reader of its bytes decides what this means.
        else c.epoll_ctl(epoll, deleteSocket, socket, buffer);
      }
    }
  }

  return {
    connect(port, text, take) {
      const socket = c.socket(internet, stream, 0);
      const bytes = new TextEncoder().encode(text);
      if (
        c.connect(socket, loopback(port), 16) !== 0 ||
        Number(c.send(socket, bytes, BigInt(bytes.length), 0)) !== bytes.length
      ) throw new Error("Cannot connect to the server");
      readers.set(socket, take);
      const interest = new DataView(new ArrayBuffer(eventBytes));
      interest.setUint32(0, readable, true);
      interest.setInt32(dataOffset, socket, true);
      if (c.epoll_ctl(epoll, addSocket, socket, interest.buffer) !== 0) {
        throw new Error("Cannot wait for a socket");
      }
      return Promise.resolve();
    },
    async [Symbol.asyncDispose]() {
      isOpen = false;
      await reading;
      for (const socket of [...readers.keys(), epoll]) c.close(socket);
      library.close();
    },
  };
}

const internet = 2;
const stream = 1;
const dontWait = 0x40;
const readable = 1;
const addSocket = 1;
const deleteSocket = 2;
const maxEvents = 1_024;
/** `struct epoll_event` is packed only on x86-64. */
const dataOffset = Deno.build.arch === "x86_64" ? 4 : 8;
const eventBytes = dataOffset + 8;

/** Returns a `struct sockaddr_in` of 127.0.0.1. */
function loopback(port: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array([
    internet,
    0,
    port >> 8,
    port & 255,
    127,
    0,
    0,
    1,
    ...new Array(8).fill(0),
  ]);
}

function denoSockets(): LiveSockets {
  const connections: Deno.TcpConn[] = [];
  const readers: Promise<void>[] = [];

  async function read(
    connection: Deno.TcpConn,
    take: (bytes: Uint8Array) => void,
  ): Promise<void> {
    const buffer = new Uint8Array(16 * 1024);
    while (true) {
      const length = await connection.read(buffer).catch((error) => {
        // This process has closed the connection, which is the only regular end of a reader.
        if (error instanceof Deno.errors.Interrupted || error instanceof Deno.errors.BadResource) {
          return null;
        }
        throw error;
      });
      if (length === null) return;
      take(buffer.subarray(0, length));
    }
  }

  return {
    async connect(port, text, take) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      connections.push(connection);
      readers.push(read(connection, take));
      await connection.write(new TextEncoder().encode(text));
    },
    async [Symbol.asyncDispose]() {
      for (const connection of connections) connection.close();
      await Promise.allSettled(readers);
    },
  };
}
