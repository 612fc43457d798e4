/**
 * The cost of policies along relations, over a million tasks of 10,000 teams with 100,000 members:
 * `deno task bench:rights [--engine sqlite|postgres] [--rows 1000000] [--turns 9]`. Each figure is
 * the ratio of the rates of two requests over HTTP, of which each turn measures one after the other:
 *
 * - a GET of one row with a policy of two relations, compared with `all()`: at least 0.8 is wanted;
 * - a GET and a count with one group of two conditions, `members.some(a;b)`, compared with two
 *   conditions that each find a row, `members.a;members.b`: at least 1 is wanted;
 * - a list of 20 rows with the policy, which one row of 200 passes, compared with `all()`. Where few
 *   rows pass, the database reads many rows in the order of the key.
 */
import { parseArgs } from "node:util";
import { type Database, openDatabase } from "../mod.ts";
import { startPostgresCluster } from "../tests/support/postgres_cluster.ts";
import { median } from "./figures.ts";
import { measure } from "./load.ts";
import { members, type scopes, tasks, teams } from "./rights_server.ts";
import { startScript } from "./start_server.ts";

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    engine: { type: "string", default: "sqlite" },
    rows: { type: "string", default: "1000000" },
    turns: { type: "string", default: "9" },
  },
});
const turns = Number(options.turns);
const teamCount = 10_000;
const memberCount = 100_000;

await using opened = new AsyncDisposableStack();
const url = await databaseUrl();
const visible = await prepare();
const server = opened.use(await startScript("rights_server.ts", [url]));

console.log(
  `Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${options.engine}, ` +
    `${options.rows} tasks, ${turns} paired turns\n`,
);
console.log("| request | connections | compared | ratio of the rates |");
console.log("| --- | --- | --- | --- |");
const byKey = (path: string, turn: number) => `${path}/${visible[turn % visible.length]}`;
for (const connections of [1, 32]) {
  await compare("GET of one row", connections, ["policy", "open"], byKey);
  await compare("GET of one row", connections, ["group", "rows"], byKey);
}
await compare("count", 1, ["group", "rows"], (path) => `${path}/count`);
await compare("list of 20", 1, ["policy", "open"], (path) => `${path}?limit=20`);

/** Prints the median of the ratios of two scopes' rates. */
async function compare(
  name: string,
  connections: number,
  [left, right]: readonly [keyof typeof scopes, keyof typeof scopes],
  pathOf: (path: string, turn: number) => string,
): Promise<void> {
  const rateOf = (scope: string) =>
    measure({
      port: server.port,
      connections,
      durationMs: 500,
      status: 200,
      request: (turn) => `GET /api/${pathOf(scope, turn)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
    });
  await rateOf(left);
  await rateOf(right);
  const ratios: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const first = await rateOf(left);
    const both = await rateOf(right);
    const last = await rateOf(left);
    ratios.push((first + last) / 2 / both);
  }
  console.log(`| ${name} | ${connections} | ${left} / ${right} | ${median(ratios).toFixed(2)} |`);
}

/** Fills the database. Returns ids of tasks that the user may read by every scope. */
async function prepare(): Promise<readonly number[]> {
  const db = await openDatabase(url);
  try {
    await db.createTables([teams, members, tasks]);
    await fill(db);
    const { rows } = await db.query({
      text: "SELECT id FROM tasks WHERE team_id IN (SELECT team_id FROM members " +
        "WHERE user_id = 'user 7' AND role = 'admin') ORDER BY id LIMIT 200",
      values: [],
    });
    return rows.map(([id]) => Number(id));
  } finally {
    await db.close();
  }
}

async function fill(db: Database): Promise<void> {
  const series = (count: number) =>
    options.engine === "postgres"
      ? `generate_series(1, ${count}) AS s(i)`
      : `(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${count}) ` +
        "SELECT i FROM s)";
  const statements = [
    `INSERT INTO teams SELECT i, 'team ' || i FROM ${series(teamCount)}`,
    // User 7 is in one of 50 teams, and an admin of half of them; each team has ten members.
    `INSERT INTO members SELECT i, 1 + i % ${teamCount}, 'user ' || (i * 31 % 500), ` +
    `CASE WHEN i % 3 = 0 THEN 'member' ELSE 'admin' END FROM ${series(memberCount)}`,
    `INSERT INTO tasks SELECT i, 1 + i % ${teamCount}, 'task ' || i FROM ${
      series(Number(options.rows))
    }`,
    "ANALYZE",
  ];
  for (const text of statements) await db.query({ text, values: [] });
}

async function databaseUrl(): Promise<string> {
  if (options.engine !== "postgres") {
    const folder = await Deno.makeTempDir();
    opened.defer(() => Deno.remove(folder, { recursive: true }));
    return `sqlite:${folder}/rights.db`;
  }
  const cluster = await startPostgresCluster();
  if ("missing" in cluster) throw new Error(cluster.missing);
  opened.defer(() => cluster.stop());
  return cluster.url;
}
