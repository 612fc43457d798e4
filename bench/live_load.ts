/** Clients of live streams and writers, over raw TCP, so that nothing has to be installed. */
import { openSockets } from "./live_sockets.ts";
import { readAnswer } from "./load.ts";

/** The streams to open. */
export interface StreamsRequest {
  readonly port: number;
  readonly count: number;
  /** The number of topics that the streams follow, in rotation. */
  readonly topics: number;
}

/** Streams that are read as fast as their bytes arrive. */
export interface Streams extends AsyncDisposable {
  /** Resolves when all streams together have received this many events with this stamp. */
  arrived(stamp: string, events: number): Promise<void>;
  /** The times from each stamp to the complete arrival of its events, in milliseconds. */
  readonly delays: ReadonlyMap<string, readonly number[]>;
}

/** Opens streams, and waits until each stream has reported that it is ready. */
export async function openStreams({ port, count, topics }: StreamsRequest): Promise<Streams> {
  const delays = new Map<string, number[]>();
  const waiting = new Map<string, { readonly events: number; readonly done: () => void }>();
  const sockets = openSockets();

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
    const ready = Promise.withResolvers<void>();
    let unread = "";
    const request =
      `GET /api/ticks/subscribe?filter=topic==${topic}&skipExisting=true HTTP/1.1\r\n` +
      `host: bench\r\n\r\n`;
    await sockets.connect(port, request, (bytes) => {
      unread += decoder.decode(bytes);
      if (unread.startsWith("HTTP/1.1 ")) {
        if (!unread.startsWith("HTTP/1.1 200 ")) ready.reject(new Error(`No stream: ${unread}`));
        if (!unread.includes(`"hasMore":false`)) return;
        ready.resolve();
      } else if (unread.endsWith(chunkEnd)) take(unread);
      else return;
      unread = "";
    });
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
    [Symbol.asyncDispose]: () => sockets[Symbol.asyncDispose](),
  };
}

const openAtOnce = 50;
const encoder = new TextEncoder();
const decoder = new TextDecoder("latin1");

/** The end of each event, and also of the chunk that contains the event. */
const chunkEnd = "\n\r\n";

/** The connection of a writer. */
export interface Writer extends Disposable {
  /** Sends a PATCH. Returns the response time in milliseconds. */
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
