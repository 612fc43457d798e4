/**
 * What the log of changes costs those who write: creates and updates through the service in this
 * process, with and without triggers. Turns come in pairs, one right behind the other, so that a
 * busy machine slows both alike; the figures are medians over the pairs. Each turn is long enough
 * for SQLite to fold what it wrote into the file, which a log makes it do more often.
 *
 *     deno run -A bench/changelog_bench.ts                      # SQLite
 *     deno run -A bench/changelog_bench.ts postgres://…/scratch # and a Postgres, whose tables
 *                                                               # bench_plain and bench_logged it makes
 */
import process from "node:process";
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
const warmUps = 3;
const pairs = 31;
const perTurn = 2_000;

/** One of the two tables, and who serves it. */
interface Side {
  readonly work: Readonly<Record<"create" | "update", (n: number) => Promise<void>>>;
  readonly close: () => Promise<void>;
}

/** What a request took. */
interface Cost {
  readonly wallUs: number;
  readonly processorUs: number;
}

const folder = await Deno.makeTempDir({ prefix: "resource-api-bench-" });
// A file each: the log would otherwise make those who write without it share its page writes.
await measure("SQLite", (name) => `sqlite:${folder}/${name}.db`);
for (const url of Deno.args) await measure(url, () => url);
await Deno.remove(folder, { recursive: true });

async function measure(label: string, urlOf: (name: string) => string): Promise<void> {
  const sides = {
    plain: await open(urlOf("plain"), "plain"),
    logged: await open(urlOf("logged"), "logged"),
  };
  console.log(`\n${label}, ${connections} at a time`);
  for (const name of ["create", "update"] as const) {
    const costs: { plain: Cost; logged: Cost }[] = [];
    // Never the same number twice: SQLite notices a row that is written as it stood, and then
    // writes nothing.
    let n = 0;
    for (let pair = -warmUps; pair < pairs; pair++) {
      const turn = (side: Side) => costOf(side.work[name], n);
      // Who comes second finds the machine warmer: they take turns.
      const first = pair % 2 === 0 ? "plain" : "logged";
      const second = first === "plain" ? "logged" : "plain";
      const [one, two] = [await turn(sides[first]), await turn(sides[second])];
      const cost = first === "plain" ? { plain: one, logged: two } : { plain: two, logged: one };
      if (pair >= 0) costs.push(cost);
      n += perTurn;
    }
    print(name, costs);
  }
  for (const side of Object.values(sides)) await side.close();
}

async function open(url: string, name: "plain" | "logged"): Promise<Side> {
  const table = tables[name];
  const db = await openDatabase(url);
  await db.driver.query({ text: `DROP TABLE IF EXISTS bench_${name}`, values: [] });
  await db.createTables([table]);
  if (name === "logged") await trackMutations(db, [table]);
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
    resources: [resource(table, { id: table.id, auth })],
  });
  const send = async (method: string, path: string, body: unknown): Promise<void> => {
    const answer = await app.fetch(
      new Request(`http://bench/api/bench_${name}${path}`, {
        method,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${await answer.text()}`);
    await answer.text();
  };
  return {
    work: {
      create: (n) => send("POST", "", row(n + 1)),
      update: (n) => send("PATCH", `/${1 + n % perTurn}`, { rank: n, title: `changed ${n}` }),
    },
    close: () => app.close(),
  };
}

function row(id: number): Record<string, unknown> {
  return { id, title: `note ${id}`, body: "x".repeat(100), rank: id, at: "2024-01-01T00:00:00Z" };
}

async function costOf(work: (n: number) => Promise<void>, from: number): Promise<Cost> {
  const [start, used] = [performance.now(), process.cpuUsage()];
  let n = 0;
  await Promise.all(Array.from({ length: connections }, async () => {
    while (n < perTurn) await work(from + n++);
  }));
  const { user, system } = process.cpuUsage(used);
  return {
    wallUs: (performance.now() - start) * 1000 / perTurn,
    processorUs: (user + system) / perTurn,
  };
}

function print(name: string, costs: readonly { plain: Cost; logged: Cost }[]): void {
  const [plain, logged] = (["plain", "logged"] as const).map((side) =>
    median(costs.map((pair) => 1e6 / pair[side].wallUs)).toFixed(0).padStart(7)
  );
  const fewer = (kind: keyof Cost) =>
    (median(costs.map(({ plain, logged }) => 1 - plain[kind] / logged[kind])) * 100).toFixed(1);
  console.log(
    `${name.padEnd(8)} ${plain}/s without, ${logged}/s with triggers: ${
      fewer("wallUs")
    } % fewer, ` +
      `${fewer("processorUs")} % by the processor time of this process`,
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0;
}
