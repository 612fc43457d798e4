/**
 * The live lists of the client: `deno task bench:client [turns]`. The service is another process on
 * this host.
 *
 * - From the start of a PATCH by one client to its row in the list of another client.
 * - From the subscription to 3,000 sorted rows, compared with a program that only reads the stream
 *   and parses its JSON.
 * - An event and its snapshot in a list of 10,000 sorted rows, compared with sorting a copy again.
 */
import { createClient, type LiveListState, type Store } from "../exports/client.ts";
import { liveList } from "../exports/client.ts";
import type { LiveRow } from "../src/client/live/live_messages.ts";
import { compareBy } from "../src/client/live/row_order.ts";
import { RowSet } from "../src/client/live/row_set.ts";
import { median, quantile } from "./figures.ts";
import { startScript } from "./start_server.ts";

interface Post {
  id: number;
  title: string;
  rank: number;
  version: number;
}

interface Api {
  posts: {
    path: "/api/posts";
    key: number;
    row: Post;
    create: Partial<Post>;
    update: Partial<Post>;
    relations: Record<never, never>;
    etag: true;
    procedures: Record<never, never>;
  };
}

const turns = Number(Deno.args[0] ?? 20);
const targets = { latencyP50: 3, latencyP99: 15, sync: 50, event: 100 };
const syncedRows = 3_000;
const sortedRows = 10_000;
const orderBy = ["-rank"] as const;

console.log(`Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores`);
const folder = await Deno.makeTempDir();
try {
  await using server = await startScript("client_server.ts", [`${folder}/client.db`]);
  const baseUrl = `http://127.0.0.1:${server.port}`;
  await measureSync(baseUrl);
  await measureLatency(baseUrl);
  measureEvents();
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(0);

async function measureSync(baseUrl: string): Promise<void> {
  const own: number[] = [];
  const plain: number[] = [];
  for (let turn = -2; turn < turns; turn++) {
    const list = liveList(createClient<Api>({ baseUrl }).posts, { orderBy });
    const ms = await timed(() => shown(list, ({ items }) => items.length === syncedRows));
    const plainMs = await timed(() => readPlainly(`${baseUrl}/api/posts/subscribe`));
    // The first turns warm up.
    if (turn < 0) continue;
    own.push(ms);
    plain.push(plainMs);
  }
  report(`${syncedRows} rows synced`, median(own), "ms", targets.sync);
  console.log(`  ${(median(own) / median(plain)).toFixed(2)} times reading the stream alone`);
}

/** The minimum work of any client: reading the bytes and parsing them. */
async function readPlainly(url: string): Promise<void> {
  const ending = new AbortController();
  const { body } = await fetch(url, { signal: ending.signal });
  let count = 0;
  let text = "";
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (text + chunk).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const at = block.indexOf("data: ");
      if (at >= 0) count += JSON.parse(block.slice(at + 6)).items?.length ?? 0;
    }
    if (count === syncedRows) break;
  }
  ending.abort();
}

async function measureLatency(baseUrl: string): Promise<void> {
  const writer = createClient<Api>({ baseUrl });
  const list = liveList(createClient<Api>({ baseUrl }).posts, { orderBy });
  const close = list.subscribe(() => {});
  await shown(list, ({ items }) => items.length === syncedRows);
  const latencies: number[] = [];
  for (let n = -20; n < turns * 15; n++) {
    const title = `changed ${n}`;
    const id = (n + 20) * 37 % syncedRows;
    const ms = await timed(async () => {
      const seen = shown(list, ({ items }) => items.some((row) => row.title === title));
      await Promise.all([seen, writer.posts.update(id, { title })]);
    });
    if (n >= 0) latencies.push(ms);
  }
  report("PATCH to another client, p50", median(latencies), "ms", targets.latencyP50);
  report("PATCH to another client, p99", quantile(latencies, 0.99), "ms", targets.latencyP99);
  close();
}

function measureEvents(): void {
  const types = { id: "integer", title: "text", rank: "integer" };
  const row = (id: number, turn: number) => ({
    id,
    title: `t${id}`,
    rank: (id * 7 + turn) % 1_000,
  });
  const items: LiveRow[] = Array.from({ length: sortedRows }, (_, id) => row(id, 0));
  const set = new RowSet(orderBy);
  set.take({ type: "opened", description: { primaryKey: ["id"], types }, asked: 1 });
  set.take({ type: "existing", items });
  set.take({ type: "token", token: "t" });
  const compare = compareBy([...orderBy, "id"], types);
  const own: number[] = [];
  const sorting: number[] = [];
  for (let n = 0; n < 2_000; n++) {
    const id = n * 37 % sortedRows;
    const start = performance.now();
    set.take({ type: "changed", id, item: row(id, n) });
    set.take({ type: "token", token: "t" });
    own.push(1_000 * (performance.now() - start));
    if (n % 40 !== 0) continue;
    const begin = performance.now();
    [...set.items].sort(compare);
    sorting.push(1_000 * (performance.now() - begin));
  }
  report(`an event into ${sortedRows} sorted rows`, median(own), "µs", targets.event);
  console.log(`  ${(median(own) / median(sorting)).toFixed(3)} of sorting them again`);
}

/** Waits until a store shows the expected value, as its first listener or as a later one. */
function shown<T>(
  store: Store<LiveListState<T>>,
  isRight: (state: LiveListState<T>) => boolean,
): Promise<void> {
  return new Promise((resolve) => {
    const end = store.subscribe((state) => {
      if (!isRight(state)) return;
      queueMicrotask(() => end());
      resolve();
    });
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function report(what: string, figure: number, unit: string, target: number): void {
  const verdict = figure <= target ? "yes" : "NO";
  console.log(`${what}: ${figure.toFixed(1)} ${unit} (at most ${target}: ${verdict})`);
}
