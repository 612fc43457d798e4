/**
 * What the log of changes costs those who write: creates and updates through the service in this
 * process, with and without triggers. Rounds are interleaved, so that a busy machine slows all
 * alike; the figures are medians.
 *
 *     deno run -A bench/changelog_bench.ts                      # SQLite
 *     deno run -A bench/changelog_bench.ts postgres://…/scratch # and a Postgres, whose tables
 *                                                               # bench_plain and bench_logged it makes
 */
import {
  all,
  createApp,
  integer,
  openDatabase,
  resource,
  table,
  text,
  timestamp,
  trackMutations,
} from "../mod.ts";

const columns = () => ({
  id: integer().primaryKey(),
  title: text().notNull(),
  body: text(),
  rank: integer(),
  at: timestamp(),
});
const tables = { plain: table("bench_plain", columns()), logged: table("bench_logged", columns()) };
const connections = 32;
const rounds = 9;
const perRound = 2_000;

const folder = await Deno.makeTempDir({ prefix: "resource-api-bench-" });
for (const url of [`sqlite:${folder}/bench.db`, ...Deno.args]) await measure(url);
await Deno.remove(folder, { recursive: true });

async function measure(url: string): Promise<void> {
  const db = await openDatabase(url);
  for (const name of ["bench_plain", "bench_logged"]) {
    await db.driver.query({ text: `DROP TABLE IF EXISTS ${name}`, values: [] });
  }
  await db.createTables(Object.values(tables));
  await trackMutations(db, [tables.logged]);
  const auth = { public: { read: true }, create: () => all(), update: () => all() };
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "bench" });
        await next();
      },
    },
    resources: Object.values(tables).map((table) => resource(table, { id: table.id, auth })),
  });
  const send = async (method: string, path: string, body: unknown): Promise<void> => {
    const answer = await app.fetch(
      new Request(`http://bench${path}`, {
        method,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${await answer.text()}`);
    await answer.text();
  };
  let next = 1;
  const firstOf = new Map<string, number>();
  const works = {
    create: (table: string) => {
      const id = next++;
      if (!firstOf.has(table)) firstOf.set(table, id);
      return send("POST", `/api/${table}`, row(id));
    },
    // The rows of a table's first round have numbers in a row. The value is never the one that is
    // stored: SQLite would notice, and write nothing.
    update: (table: string, n: number) =>
      send("PATCH", `/api/${table}/${(firstOf.get(table) ?? 0) + n % perRound}`, {
        rank: n,
        title: `changed ${n}`,
      }),
  };
  console.log(`\n${db.label.replace(folder, "")}, ${connections} at a time`);
  for (const [name, work] of Object.entries(works)) {
    const samples = { bench_plain: [] as number[], bench_logged: [] as number[] };
    for (let round = -2; round < rounds; round++) {
      // Who comes second finds the machine warmer: they take turns.
      const order = Object.entries(samples);
      if (round % 2 !== 0) order.reverse();
      for (const [table, times] of order) {
        const rate = await ratePerSecond((n) => work(table, n));
        if (round >= 0) times.push(rate);
      }
    }
    const [plain, logged] = [median(samples.bench_plain), median(samples.bench_logged)];
    const slower = (1 - logged / plain) * 100;
    console.log(
      `${name.padEnd(8)} ${plain.toFixed(0).padStart(7)}/s without, ${
        logged.toFixed(0).padStart(7)
      }/s with triggers: ${slower.toFixed(1)} % fewer`,
    );
  }
  await app.close();
}

function row(id: number): Record<string, unknown> {
  return { id, title: `note ${id}`, body: "x".repeat(100), rank: id, at: "2024-01-01T00:00:00Z" };
}

async function ratePerSecond(work: (n: number) => Promise<void>): Promise<number> {
  const start = performance.now();
  let n = 0;
  await Promise.all(Array.from({ length: connections }, async () => {
    while (n < perRound) await work(n++);
  }));
  return perRound / (performance.now() - start) * 1000;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0;
}
