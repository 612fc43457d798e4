/**
 * Measures a live stream with a limit of 10 over tables of several sizes, on SQLite, in this process:
 * the time until the first rows, and the bytes, the events and the memory during changes. A hundred
 * transactions a second contain the changes.
 *
 * deno task bench:window [rows] [changes per second] [seconds]
 */
import { createApp, integer, openDatabase, resource, table, text } from "../mod.ts";

const largest = Number(Deno.args[0] ?? 1_000_000);
const perSecond = Number(Deno.args[1] ?? 1_000);
const seconds = Number(Deno.args[2] ?? 10);

const items = table("items", {
  id: integer().primaryKey(),
  rank: integer().notNull(),
  title: text().notNull(),
});

for (const rows of [1_000, largest]) {
  for (const [name, place] of [["at random places", rows], ["in the window", 10]] as const) {
    await measure(rows, name, place);
  }
}
Deno.exit();

/** Changes ranks among the first `place` rows of the order. */
async function measure(rows: number, name: string, place: number): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "resource-api-bench-" });
  const db = await openDatabase(`sqlite:${folder}/bench.db`);
  await db.createTables([items]);
  const run = (text: string) => db.driver.query({ text, values: [] });
  await run("CREATE INDEX by_rank ON items (rank DESC, id)");
  await run(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows}) ` +
      "INSERT INTO items (id, rank, title) SELECT i, i * 10, 'A title of a row' FROM n",
  );
  const app = await createApp({
    db,
    secret: "a secret for the benchmark",
    resources: [resource(items, { id: items.id, auth: { public: true } })],
  });
  // The first stream also opens the change log.
  await (await open(app)).cancel();
  const began = performance.now();
  const reader = await open(app);
  await until(reader, '"hasMore":false');
  const firstMs = performance.now() - began;
  let bytes = 0;
  let events = 0;
  const reading = (async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes += part.value.length;
      events += new TextDecoder().decode(part.value).split("event: ").length - 1;
    }
  })();
  const heap = Deno.memoryUsage().heapUsed;
  const cpu = process.cpuUsage();
  const end = performance.now() + seconds * 1_000;
  let changes = 0;
  for (let next = performance.now(); next < end; next += 10) {
    await db.driver.transaction(async (connection) => {
      for (let count = 0; count < perSecond / 100; count++) {
        const id = rows - Math.floor(Math.random() * place);
        const rank = id * 10 + Math.floor(Math.random() * 20);
        await connection.query({
          text: `UPDATE items SET rank = ${rank} WHERE id = ${id}`,
          values: [],
        });
        changes++;
      }
    });
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next + 10 - performance.now())));
  }
  const { user, system } = process.cpuUsage(cpu);
  await reader.cancel();
  await reading;
  console.log(
    `${rows} rows, ${changes} changes ${name}: first rows ${firstMs.toFixed(1)} ms, ` +
      `${(bytes / 1_000).toFixed(0)} kB in ${events} events, ` +
      `heap ${((Deno.memoryUsage().heapUsed - heap) / 1e6).toFixed(1)} MB more, ` +
      `${((user + system) / 1e6).toFixed(1)} s of processor time with the writes`,
  );
  await app.close();
  await db.close();
  await Deno.remove(folder, { recursive: true });
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function open(
  app: { fetch(request: Request): Promise<Response> | Response },
): Promise<Reader> {
  const response = await app.fetch(
    new Request("http://bench/api/items/subscribe?orderBy=-rank&limit=10"),
  );
  if (response.body === null) throw new Error("The stream has no body");
  return response.body.getReader();
}

async function until(reader: Reader, mark: string): Promise<void> {
  for (let text = ""; !text.includes(mark);) {
    text += new TextDecoder().decode((await reader.read()).value);
  }
}
