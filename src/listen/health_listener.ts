import { Problem, problemReply } from "../problem/problem.ts";
import { type Clock, sleep } from "../runtime/runtime.ts";

export interface ListenAddress {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort: boolean;
}

export interface HealthListenerOptions {
  readonly address: ListenAddress;
  /** Maximum number of connections whose clients have not yet sent a complete request. */
  readonly maxWaiting: number;
  readonly answer: (request: Request, info: Deno.ServeHandlerInfo) => Response | Promise<Response>;
  readonly clock: Clock;
}

/**
 * Starts a listener for a process without free file descriptors. It responds to `/healthz`, and to
 * other requests with 503. If too many connections have sent no request, the oldest is closed, so
 * that no client can block other clients. Throws if it cannot listen.
 */
export function listenForHealth(options: HealthListenerOptions) {
  const { address, address: { hostname, port }, maxWaiting, clock } = options;
  const listener = Deno.listen(address);
  const open = new Set<Deno.TcpConn>();
  /** The connections that have not sent the complete head of their request. */
  const waiting = new Set<Deno.TcpConn>();
  let isClosed = false;

  function close(connection: Deno.TcpConn): void {
    waiting.delete(connection);
    if (open.delete(connection)) connection.close();
  }

  async function answer(connection: Deno.TcpConn): Promise<void> {
    open.add(connection);
    waiting.add(connection);
    const [oldest] = waiting;
    if (waiting.size > maxWaiting && oldest !== undefined) close(oldest);
    const cancel = clock.after(maxMs, () => close(connection));
    // An error concerns only this connection, whose client has disconnected or timed out.
    await respond(connection).catch(() => null);
    cancel();
    close(connection);
  }

  async function respond(connection: Deno.TcpConn): Promise<void> {
    const request = await readRequest(connection);
    waiting.delete(connection);
    if (request === null) return;
    const response = request.isForHealth ? await answerHealth(connection) : refusal();
    await writeResponse(connection, response, request.isHead);
  }

  async function answerHealth({ remoteAddr }: Deno.TcpConn): Promise<Response> {
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    const request = new Request(`http://${host}:${port}/healthz`);
    return await options.answer(request, { remoteAddr, completed: Promise.resolve() });
  }

  async function acceptAll(): Promise<void> {
    while (!isClosed) {
      // `accept` fails without free descriptors, and after the listener was closed.
      const connection = await listener.accept().catch(() => null);
      if (connection !== null) void answer(connection);
      else if (!isClosed) await sleep(acceptAgainInMs);
    }
  }

  const accepting = acceptAll();
  return {
    /** Closes the listener and its connections. Resolves when its port is free. */
    close(): Promise<void> {
      isClosed = true;
      listener.close();
      for (const connection of open) close(connection);
      // The system releases the port only when the last `accept` has ended.
      return accepting;
    },
  };
}

const acceptAgainInMs = 20;
const maxMs = 1_000;
const maxHeadBytes = 8_192;

/** Reads a request; null if the connection ends before the head was received. */
async function readRequest(connection: Deno.TcpConn) {
  const buffer = new Uint8Array(maxHeadBytes);
  let length = 0;
  while (length < buffer.length) {
    const read = await connection.read(buffer.subarray(length));
    if (read === null) return null;
    length += read;
    const head = new TextDecoder().decode(buffer.subarray(0, length));
    if (!head.includes("\r\n\r\n")) continue;
    const isForHealth = /^(?:GET|HEAD) \/healthz(?:\?\S*)? HTTP\/1\.[01]\r\n/.test(head);
    return { isForHealth, isHead: head.startsWith("HEAD ") };
  }
  return { isForHealth: false, isHead: false };
}

function refusal(): Response {
  return problemResponse(
    new Problem("overloaded", "Cannot answer: too many connections are open", {
      headers: { "retry-after": "1" },
    }),
  );
}

export function problemResponse(problem: Problem): Response {
  const { status, headers, body } = problemReply(problem);
  return new Response(body, { status, headers });
}

async function writeResponse(
  connection: Deno.TcpConn,
  response: Response,
  isHead: boolean,
): Promise<void> {
  const body = new Uint8Array(await response.arrayBuffer());
  const headers = new Headers(response.headers);
  headers.set("content-length", String(body.length));
  headers.set("connection", "close");
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  const head = new TextEncoder().encode(
    `HTTP/1.1 ${response.status} \r\n${lines.join("\r\n")}\r\n\r\n`,
  );
  const message = new Uint8Array(isHead ? head : [...head, ...body]);
  for (let sent = 0; sent < message.length;) sent += await connection.write(message.subarray(sent));
}
