/** Clients that send one request after the other until they are stopped, byte by byte HTTP/1.1. */

import { sleep } from "../../../src/runtime/runtime.ts";

/** What the clients of a load got. */
export interface LoadResult {
  readonly answered: number;
  /** Why requests got no answer. */
  readonly failures: readonly string[];
}

/** A load that runs. */
export interface Load {
  /** Resolves after so many more answers. */
  answers(more: number): Promise<void>;
  /** Lets each client end with its present request. */
  stop(): Promise<LoadResult>;
}

/** Whether a client asks for notes by a new connection each time, or for `/readyz` by one that it keeps. */
export type Connections = "new" | "kept";

/** Starts so many clients. */
export function startLoad(port: number, clients: number, connections: Connections): Load {
  const failures: string[] = [];
  let answered = 0;
  let isStopping = false;

  async function runClient(): Promise<void> {
    let connection: Deno.TcpConn | null = null;
    while (!isStopping) {
      try {
        connection ??= await Deno.connect({ hostname: "127.0.0.1", port });
        const head = await ask(connection, connections);
        answered++;
        if (connections === "kept" && !/\r\nconnection: close/i.test(head)) {
          // A processor is for the workers.
          await sleep(2);
          continue;
        }
      } catch (error) {
        failures.push(String(error));
        // At once it could reach the queue of the same process, which is just being ended.
        await sleep(20);
      }
      connection?.close();
      connection = null;
    }
    connection?.close();
  }

  const running = Promise.all(Array.from({ length: clients }, runClient));
  return {
    async answers(more) {
      const wanted = answered + more;
      while (answered < wanted) await sleep(5);
    },
    async stop() {
      isStopping = true;
      await running;
      return { answered, failures };
    },
  };
}

/** Sends a request, and reads the whole answer; returns its head. */
async function ask(connection: Deno.TcpConn, connections: Connections): Promise<string> {
  const request = connections === "new"
    ? "GET /api/notes/count HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    // As a balancer asks.
    : "GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n";
  await connection.write(new TextEncoder().encode(request));
  const buffer = new Uint8Array(4_096);
  let text = "";
  while (true) {
    const size = await connection.read(buffer);
    if (size === null) throw new Error(`the connection ended after ${text.length} characters`);
    text += new TextDecoder().decode(buffer.subarray(0, size));
    const [head = "", body] = text.split("\r\n\r\n");
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
    if (body === undefined || body.length < length) continue;
    if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(text);
    return head;
  }
}
