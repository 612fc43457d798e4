/**
 * One server of `live_bench.ts` in a separate process: `live_server.ts ours DATABASE` or
 * `live_server.ts bare`. The bare server needs no database: it sends a client's message to every
 * open stream of the topic.
 */
import { all, createApp, openDatabase, resource } from "../mod.ts";
import { rowsPerTopic, tickBody, ticks, topicCount } from "./live_table.ts";

const [side, database] = Deno.args;
const { fetch } = side === "bare" ? bare() : await ours(database ?? "");
Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
}, fetch);

async function ours(url: string): Promise<{ fetch: Deno.ServeHandler }> {
  const db = await openDatabase(url);
  await db.createTables([ticks]);
  const { rows } = await db.driver.query({ text: `SELECT count(*) FROM bench_ticks`, values: [] });
  if (Number(rows[0]?.[0]) === 0) {
    const values = Array.from(
      { length: topicCount * rowsPerTopic },
      (_, id) => `(${id}, ${Math.floor(id / rowsPerTopic)}, '${tickBody}')`,
    );
    await db.driver.query({
      text: `INSERT INTO bench_ticks (id, topic, body) VALUES ${values.join(", ")}`,
      values: [],
    });
  }
  const app = await createApp({
    db,
    secret: "a secret for the benchmark",
    subscribe: { maxPerAddress: 100_000, maxPerUser: 100_000 },
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "bench" });
        await next();
      },
    },
    resources: [
      resource(ticks, {
        id: ticks.id,
        path: "ticks",
        auth: { public: true, update: () => all() },
        capabilities: { enableBatch: true },
      }),
    ],
  });
  return { fetch: (request, info) => app.fetch(request, info) };
}

function bare(): { fetch: Deno.ServeHandler } {
  type Reader = ReadableStreamDefaultController<Uint8Array>;
  const readers = new Map<number, Set<Reader>>();
  const encoder = new TextEncoder();
  let seq = 0;

  function subscribe(topic: number): Response {
    const ofTopic = readers.get(topic) ?? new Set();
    readers.set(topic, ofTopic);
    let own: Reader | null = null;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        ofTopic.add(own = controller);
        controller.enqueue(encoder.encode(`event: existing\ndata: {"hasMore":false}\n\n`));
      },
      cancel() {
        if (own !== null) ofTopic.delete(own);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  function send(first: number, count: number, stamp: unknown): Response {
    const topic = Math.floor(first / rowsPerTopic);
    const text = Array.from({ length: count }, (_, index) => {
      const item = { id: first + index, topic, stamp, body: tickBody };
      const data = { type: "changed", seq: ++seq, id: item.id, item };
      return `event: changed\ndata: ${JSON.stringify(data)}\n\n`;
    }).join("");
    const bytes = encoder.encode(`${text}id: ${seq}\n\n`);
    for (const reader of readers.get(topic) ?? []) reader.enqueue(bytes);
    return Response.json({});
  }

  return {
    async fetch(request) {
      const topic = /filter=topic==(\d+)/.exec(request.url)?.[1];
      if (topic !== undefined) return subscribe(Number(topic));
      const { stamp, patch, filter } = await request.json();
      const id = /ticks\/(\d+)$/.exec(request.url)?.[1];
      if (id !== undefined) return send(Number(id), 1, stamp);
      return send(Number(filter.slice("topic==".length)) * rowsPerTopic, rowsPerTopic, patch.stamp);
    },
  };
}
