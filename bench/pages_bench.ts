/**
 * Reads pages of a large table of another program, with NULL in its indexed columns: `deno task
 * bench:pages [rows] [engines]`, by default 5,000,000 on `sqlite,postgres`.
 *
 * For each order, reads pages of 20 rows at the beginning, deep in the order, at the last row with
 * a value, and among rows without a value. Then counts by indexed filters. The median of several
 * reads counts. Concurrently, a row is read by its key every few milliseconds. The last figure of a
 * line is the longest of these reads. Large pages lead to a position.
 */
import postgres from "postgres";
import { type App, createApp, openDatabase, resource } from "../mod.ts";
import { startPostgresCluster } from "../tests/support/postgres_cluster.ts";
import { onSignal } from "./attack/processes.ts";
import { median } from "./figures.ts";

const rows = Number(Deno.args[0] ?? 5_000_000);
const engines = (Deno.args[1] ?? "sqlite,postgres").split(",");
const target = { pageMs: 20, waitMs: 50 };
const rounds = 9;
const probeEveryMs = 4;
const largePage = 5_000;

const orders = [
  "id",
  "-id",
  "score",
  "-score",
  "-score,-id",
  "place",
  "-place,-id",
  "kind",
  "-kind,-id",
  "-kind,-takenAt",
  "kind,-score",
  "-takenAt",
];
const filters = [
  "score<3000",
  "place==p0017",
  "kind==b;takenAt<2000-02-01T00:00:00Z",
  "score==null;id<50000",
];
/** Every fifth row has no score, and every hundredth row has no place. */
const withValue = { score: 0.8, place: 0.99 };

const postgresTable = [
  `CREATE TABLE readings (id int PRIMARY KEY, score int, place text, kind text NOT NULL,
    "takenAt" timestamptz NOT NULL)`,
  `INSERT INTO readings SELECT i, CASE WHEN i % 5 > 0 THEN (i * 7919::int8) % 1000003 END,
    CASE WHEN i % 100 > 0 THEN 'p' || lpad(((i * 31::int8) % 5000)::text, 4, '0') END,
    substr('abc', i % 3 + 1, 1), '2000-01-01Z'::timestamptz + i * interval '1 minute'
    FROM generate_series(1, ${rows}) AS i`,
  ...indexes(" NULLS LAST"),
  `ANALYZE readings`,
];

const sqliteTable = [
  `CREATE TABLE readings (id INTEGER PRIMARY KEY, score INTEGER, place TEXT, kind TEXT NOT NULL,
    "takenAt" TIMESTAMP NOT NULL)`,
  `INSERT INTO readings WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
    SELECT i, CASE WHEN i % 5 > 0 THEN (i * 7919) % 1000003 END,
    CASE WHEN i % 100 > 0 THEN 'p' || printf('%04d', (i * 31) % 5000) END,
    substr('abc', i % 3 + 1, 1), strftime('%Y-%m-%dT%H:%M:%SZ', 946684800 + i * 60, 'unixepoch')
    FROM n`,
  ...indexes(""),
];

console.log(`Deno ${Deno.version.deno}, ${rows.toLocaleString("en")} rows`);
const folder = await Deno.makeTempDir({ prefix: "resource-api-pages-" });
const cluster = engines.includes("postgres") ? await startPostgresCluster() : null;
onSignal(cleanUp);
let failures = 0;
try {
  for (const engine of engines) await measureEngine(engine);
} finally {
  await cleanUp();
}
console.log(failures === 0 ? "every page in time" : `${failures} over the limits`);
Deno.exit(failures === 0 ? 0 : 1);

async function cleanUp(): Promise<void> {
  if (cluster !== null && "stop" in cluster) await cluster.stop();
  await Deno.remove(folder, { recursive: true }).catch(() => {});
}

function urlOf(engine: string): string {
  if (engine !== "postgres") return `sqlite:${folder}/pages.db`;
  if (cluster === null || !("url" in cluster)) throw new Error("There is no Postgres");
  return cluster.url;
}

async function measureEngine(engine: string): Promise<void> {
  const url = urlOf(engine);
  const db = await openDatabase(url);
  console.log(`\n${engine}: making the table …`);
  if (engine === "postgres") await makePostgresTable(url);
  else for (const text of sqliteTable) await db.driver.query({ text, values: [] });
  const { tables: [readings] } = await db.introspect();
  if (readings === undefined) throw new Error("The table is not there");
  const app = await createApp({
    db,
    changes: { mode: "service" },
    resources: [
      resource(readings, {
        id: ["id"],
        auth: { public: { read: true } },
        pagination: { maxLimit: largePage },
      }),
    ],
  });
  try {
    // The first request of a process is slower, because it compiles the code that it runs.
    await read(app, "/api/readings?limit=20");
    await read(app, "/api/readings/17");
    for (const order of orders) await measureOrder(app, order);
    for (const filter of filters) {
      await measure(
        app,
        `/api/readings/count?filter=${encodeURIComponent(filter)}`,
        `count of ${filter}`,
      );
    }
  } finally {
    await app.close();
    await db.close();
  }
}

/** The library sends this statement, because the driver would abort such a long statement. */
async function makePostgresTable(url: string): Promise<void> {
  const admin = postgres(url, { max: 1 });
  for (const text of postgresTable) await admin.unsafe(text);
  await admin.end();
}

async function measureOrder(app: App, order: string): Promise<void> {
  const first = Object.entries(withValue).find(([name]) =>
    order.split(",")[0] === name || order.split(",")[0] === `-${name}`
  );
  const valued = Math.round(rows * (first?.[1] ?? 1));
  const depths = [0, 20, rows / 2, Math.min(valued - 10, rows - 21), (valued + rows - 42) / 2];
  const walked = { cursor: null as string | null, depth: 0 };
  for (const depth of [...new Set(depths.map(Math.round))].sort((one, other) => one - other)) {
    while (walked.depth < depth) {
      const limit = Math.min(largePage, depth - walked.depth);
      const path = pathOf(order, walked.cursor, limit);
      const { nextCursor } = await (await app.fetch(new Request(`http://bench${path}&select=id`)))
        .json();
      walked.cursor = String(nextCursor);
      walked.depth += limit;
    }
    await measure(
      app,
      pathOf(order, walked.cursor, 20),
      `${order} from ${depth.toLocaleString("en")}`,
    );
  }
}

function pathOf(order: string, cursor: string | null, limit: number): string {
  return `/api/readings?orderBy=${order}&limit=${limit}${
    cursor === null ? "" : `&cursor=${cursor}`
  }`;
}

async function measure(app: App, path: string, name: string): Promise<void> {
  const probe = startProbe(app);
  const tookMs: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const began = performance.now();
    await read(app, path);
    // The first round reads from the disk and does not count.
    if (round > 0) tookMs.push(performance.now() - began);
  }
  const waitedMs = await probe.stop();
  const pageMs = median(tookMs);
  const isGood = pageMs <= target.pageMs && waitedMs <= target.waitMs;
  if (!isGood) failures++;
  console.log(
    `${name.padEnd(48)} ${pageMs.toFixed(1).padStart(8)} ms ${waitedMs.toFixed(1).padStart(8)} ms` +
      (isGood ? "" : "  OVER"),
  );
}

async function read(app: App, path: string): Promise<void> {
  const response = await app.fetch(new Request(`http://bench${path}`));
  const answer = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${answer}`);
}

/** Reads a row by its key repeatedly. Returns the longest response time. */
function startProbe(app: App): { readonly stop: () => Promise<number> } {
  let longest = 0;
  let isStopped = false;
  async function run(): Promise<void> {
    while (!isStopped) {
      const dueAt = performance.now() + probeEveryMs;
      await new Promise((resolve) => setTimeout(resolve, probeEveryMs));
      await (await app.fetch(new Request("http://bench/api/readings/17"))).body?.cancel();
      longest = Math.max(longest, performance.now() - dueAt);
    }
  }
  const running = run();
  return {
    stop: async () => {
      isStopped = true;
      await running;
      return longest;
    },
  };
}

function indexes(nullsLast: string): readonly string[] {
  return [
    `CREATE INDEX readings_score ON readings (score)`,
    `CREATE INDEX readings_place ON readings (place)`,
    `CREATE INDEX readings_kind ON readings (kind, id)`,
    `CREATE INDEX readings_kind_taken ON readings (kind, "takenAt")`,
    `CREATE INDEX readings_kind_score ON readings (kind, score DESC${nullsLast})`,
    `CREATE INDEX readings_taken ON readings ("takenAt")`,
  ];
}
