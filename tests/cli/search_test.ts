import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parseArguments } from "../../src/cli/arguments.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { runChild, startChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;

async function fillShop(path: string): Promise<void> {
  const db = await openDatabase(`sqlite:${path}`);
  for (
    const text of [
      "CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL)",
      "CREATE TABLE sizes (id INTEGER PRIMARY KEY, width REAL)",
      "INSERT INTO goods (id, name) VALUES (1, 'Green tea'), (2, 'Tea cup'), (3, 'Coffee')",
    ]
  ) await db.query({ text, values: [] });
  await db.close();
}

async function searchOf(args: readonly string[], cwd: string): Promise<readonly unknown[]> {
  await using child = startChild([cli, ...args, "--port", "0"], { cwd });
  const [, url = ""] = await child.printed(/(http:\/\/[^/]+)\/healthz/);
  const found = await fetch(`${url}/api/goods/search?q=tea`);
  const { items = [] } = await found.json();
  const other = await fetch(`${url}/api/sizes/search?q=tea`);
  await other.body?.cancel();
  return [found.status, items.map(({ id }: { id: number }) => id).toSorted(), other.status];
}

Deno.test("--search serves every table with texts, and installs nothing without --write", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/shop.db`;
  await fillShop(path);
  const before = await Deno.readFile(path);
  assertEquals(await searchOf(["shop.db", "--search"], folder.path), [200, [1, 2], 404]);
  assertEquals(await Deno.readFile(path), before);
  assertEquals(await searchOf(["shop.db", "--search", "--write"], folder.path), [200, [1, 2], 404]);
  assertEquals((await searchOf(["shop.db"], folder.path))[0], 404);
});

Deno.test("search reindex indexes what was written past the service, and forgets what is gone", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/shop.db`;
  await fillShop(path);
  const reindex = () => runChild([cli, "search", "reindex", "shop.db"], { cwd: folder.path });
  const first = await reindex();
  const [notice = "", done] = first.stderr.trim().split("\n");
  assertEquals([first.code, done], [0, "goods: 3 rows"]);
  assertMatch(notice, /tables named service_fts_\* are to be added/);
  const db = await openDatabase(`sqlite:${path}`);
  const run = (text: string) => db.query({ text, values: [] });
  await run("INSERT INTO goods (id, name) VALUES (4, 'Tea pot')");
  await run("DELETE FROM goods WHERE id IN (2, 3)");
  const second = await reindex();
  assertEquals([second.code, second.stderr.trim()], [0, "goods: 2 rows"]);
  const { rows } = await run("SELECT count(*) FROM service_fts_goods");
  assertEquals(rows, [[2]]);
  await db.close();
  assertEquals(await searchOf(["shop.db", "--search", "--write"], folder.path), [200, [1, 4], 404]);
});

Deno.test("the arguments of search are checked", async () => {
  for (
    const [args, message] of [
      ["search", /takes reindex or outbox/],
      ["search find", /takes reindex or outbox/],
      ["search reindex a.db b.db", /too much/],
      ["search reindex a.db -c b.ts", /not both/],
      ["search reindex --confg b.ts", /did you mean --config/],
      ["--search", /belongs to a database/],
    ] as const
  ) {
    const command = parseArguments(args.split(" "));
    assertEquals(command.kind, "misused", args);
    assertMatch("message" in command ? command.message : "", message);
  }
  await using folder = await scratchFolder();
  const { code, stderr } = await runChild([cli, "search", "reindex"], { cwd: folder.path });
  assertEquals(code, 2);
  assertStringIncludes(stderr, "There is no service.config.ts here");
});
