/** Clients of live streams and writers, over raw TCP, so that the benchmark needs nothing installed. */
import { readAnswer } from "./load.ts";

/** Streams to open. */
export interface StreamsRequest {
  readonly port: number;
  readonly count: number;
  /** The streams follow so many topics, in turns. */
  readonly topics: number;
}

/** Streams that are read as fast as their bytes come. */
export interface Streams extends AsyncDisposable {
  /** Resolves when so many events with this stamp have come, over all streams. */
  arrived(stamp: string, events: number): Promise<void>;
  /** For each stamp, how long after it was made its events came whole, in milliseconds. */
  readonly delays: ReadonlyMap<string, readonly number[]>;
}

/** Opens streams, and waits until each has said that it is ready. */
export async function openStreams({ port, count, topics }: StreamsRequest): Promise<Streams> {
  const delays = new Map<string, number[]>();
  const waiting = new Map<string, { readonly events: number; readonly done: () => void }>();
  const connections: Deno.TcpConn[] = [];
  const readers: Promise<void>[] = [];

  function take(text: string): void {
    const now = performance.now();
    for (const [, stamp = ""] of text.matchAll(/"stamp":([\d.]+)/g)) {
      const ofStamp = delays.get(stamp) ?? [];
      delays.set(stamp, ofStamp);
      ofStamp.push(now - Number(stamp));
      const wait = waiting.get(stamp);
      if (wait?.events === ofStamp.length) wait.done();
    }
  }

  async function open(topic: number): Promise<void> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connections.push(connection);
    const ready = Promise.withResolvers<void>();
    readers.push(
      read(connection, (text) => {
        if (!text.startsWith("HTTP/1.1 200")) take(text);
        if (text.includes(`"hasMore":false`)) ready.resolve();
      }).catch(ready.reject),
    );
    await connection.write(encoder.encode(
      `GET /api/ticks/subscribe?filter=topic==${topic}&skipExisting=true HTTP/1.1\r\n` +
        `host: bench\r\n\r\n`,
    ));
    await ready.promise;
  }

  for (let opened = 0; opened < count; opened += openAtOnce) {
    const some = Math.min(openAtOnce, count - opened);
    await Promise.all(Array.from({ length: some }, (_, at) => open((opened + at) % topics)));
  }
  return {
    delays,
    arrived(stamp, events) {
      if (delays.get(stamp)?.length === events) return Promise.resolve();
      return new Promise((done) => waiting.set(stamp, { events, done }));
    },
    async [Symbol.asyncDispose]() {
      for (const connection of connections) connection.close();
      await Promise.allSettled(readers);
    },
  };
}

const openAtOnce = 50;
const encoder = new TextEncoder();
const decoder = new TextDecoder("latin1");

/** Calls back with whole chunks, until the connection is closed from here. */
async function read(connection: Deno.TcpConn, take: (text: string) => void): Promise<void> {
  const buffer = new Uint8Array(16 * 1024);
  let unread = "";
  while (true) {
    const length = await connection.read(buffer).catch((error) => {
      // The only way in which this reader ends.
      if (error instanceof Deno.errors.Interrupted || error instanceof Deno.errors.BadResource) {
        return null;
      }
      throw error;
    });
    if (length === null) return;
    unread += decoder.decode(buffer.subarray(0, length));
    if (unread.startsWith("HTTP/1.1 ") && !unread.startsWith("HTTP/1.1 200 ")) {
      throw new Error(`No stream: ${unread}`);
    }
    if (!unread.endsWith("\n\r\n")) continue;
    take(unread);
    unread = "";
  }
}

/** A writer's connection. */
export interface Writer extends Disposable {
  /** Gives how long the answer took, in milliseconds. */
  patch(path: string, body: unknown): Promise<number>;
}

/** Connects a writer. */
export async function openWriter(port: number): Promise<Writer> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  connection.setNoDelay(true);
  const buffer = new Uint8Array(64 * 1024);
  return {
    async patch(path, body) {
      const text = JSON.stringify(body);
      const startedAt = performance.now();
      await connection.write(encoder.encode(
        `PATCH ${path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n` +
          `content-length: ${text.length}\r\n\r\n${text}`,
      ));
      await readAnswer(connection, buffer, 200);
      return performance.now() - startedAt;
    },
    [Symbol.dispose]: () => connection.close(),
  };
}
