/**
 * The cost of the change log and of a history for writers: creates and updates in this process, with
 * and without triggers, and with versions of the rows. Some turns on Postgres follow the log, so that the service signals after its commits
 * and no trigger does. Turns alternate in rounds, so that other work affects all sides equally. The
 * figures are medians over the rounds. Each turn lasts long enough for SQLite to checkpoint its
 * WAL.
 *
 * deno run -A bench/changelog_bench.ts # SQLite deno run -A bench/changelog_bench.ts
 * postgres://…/scratch # and a Postgres, whose tables # bench_* it makes
 */
import process from "node:process";
import {
  all,
  createApp,
  type Database,
  integer,
  openDatabase,
  resource,
  table,
  text,
  timestamp,
  trackMutations,
} from "../mod.ts";
import { changeHints } from "../src/db/changes/change_hints.ts";
import { systemRuntime } from "../src/runtime/system_runtime.ts";
import { median } from "./figures.ts";

const columns = () => ({
  id: integer().primaryKey(),
  title: text().notNull(),
  body: text(),
  rank: integer(),
  at: timestamp(),
});
const tables = {
  plain: table("bench_plain", columns()),
  logged: table("bench_logged", columns()),
  followed: table("bench_followed", columns()),
  history: table("bench_history", columns()),
};
type Name = keyof typeof tables;
const connections = 32;
const warmUps = 3;
const rounds = 31;
const perTurn = 2_000;

/** One of the compared tables, and the server that serves it. */
interface Side {
  readonly work: Readonly<Record<"create" | "update", (n: number) => Promise<void>>>;
  readonly close: () => Promise<void>;
}

/** The cost of one request. */
interface Cost {
  readonly wallUs: number;
  readonly processorUs: number;
}

const folder = await Deno.makeTempDir({ prefix: "resource-api-bench-" });
// Each table has a separate file. Otherwise writers without the log would share its page writes.
await measure("SQLite", (name) => `sqlite:${folder}/${name}.db`, ["plain", "logged", "history"]);
for (const url of Deno.args) {
  await measure(url, () => url, ["plain", "logged", "followed", "history"]);
}
await Deno.remove(folder, { recursive: true });

async function measure(
  label: string,
  urlOf: (name: Name) => string,
  names: readonly Name[],
): Promise<void> {
  const sides = new Map<Name, Side>();
  for (const name of names) sides.set(name, await open(urlOf(name), name));
  console.log(`\n${label}, ${connections} at a time`);
  for (const kind of ["create", "update"] as const) {
    const costs: ReadonlyMap<Name, Cost>[] = [];
    // Each number is used once, because SQLite does not write a row that has not changed.
    let n = 0;
    for (let round = -warmUps; round < rounds; round++) {
      const cost = new Map<Name, Cost>();
      // The tables alternate, because a later measurement benefits from a warmer machine.
      for (let turn = 0; turn < names.length; turn++) {
        const name = names[(turn + round + warmUps) % names.length];
        const side = name === undefined ? undefined : sides.get(name);
        if (name !== undefined && side !== undefined) {
          cost.set(name, await costOf(side.work[kind], n));
        }
      }
      if (round >= 0) costs.push(cost);
      n += perTurn;
    }
    for (const name of names) print(`${kind} ${name}`, name, costs);
  }
  for (const side of sides.values()) await side.close();
}

async function open(url: string, name: Name): Promise<Side> {
  const table = tables[name];
  const db = await openDatabase(url);
  await db.driver.query({ text: `DROP TABLE IF EXISTS bench_${name}`, values: [] });
  await db.createTables([table]);
  if (name !== "plain") await trackMutations(db, [table]);
  const { clock } = systemRuntime(() => {});
  const hints = name === "followed" ? changeHints(db.driver, clock) : null;
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
    resources: [
      resource(table, { id: table.id, auth, ...(name === "history" ? { history: {} } : {}) }),
    ],
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
    close: async () => {
      if (name === "history") await printVersions(db);
      await hints?.close();
      await app.close();
      await db.close();
    },
  };
}

/** Prints the number and the size of the versions, without indexes. */
async function printVersions(db: Database): Promise<void> {
  const { rows: [row] } = await db.driver.query({
    text: `SELECT count(*), avg(octet_length(image)), avg(octet_length(image) +
        octet_length("table") + octet_length("key") + octet_length(op) +
        coalesce(octet_length(user_id), 0) + coalesce(octet_length(operation), 0) + 16)
      FROM "_service_history"`,
    values: [],
  });
  const [count, image, whole] = row?.map(Number) ?? [];
  console.log(
    `history          ${count} versions, ${whole?.toFixed(0)} bytes each (image: ${
      image?.toFixed(0)
    })`,
  );
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

function print(label: string, name: Name, costs: readonly ReadonlyMap<Name, Cost>[]): void {
  const pairs = costs.flatMap((cost) => {
    const [plain, side] = [cost.get("plain"), cost.get(name)];
    return plain === undefined || side === undefined ? [] : [{ plain, side }];
  });
  const perSecond = median(pairs.map(({ side }) => 1e6 / side.wallUs)).toFixed(0);
  const fewer = (kind: keyof Cost) =>
    (median(pairs.map(({ plain, side }) => 1 - plain[kind] / side[kind])) * 100).toFixed(1);
  const cost = name === "plain"
    ? ""
    : `, ${fewer("wallUs")} % fewer, ${
      fewer("processorUs")
    } % by the processor time of this process`;
  console.log(`${label.padEnd(16)} ${perSecond.padStart(7)}/s${cost}`);
}
