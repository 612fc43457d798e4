import { assertEquals, assertMatch } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../../src/engines/open_database.ts";
import { startChild } from "../serve/child_process.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const program = new URL("../../cli.ts", import.meta.url).pathname;
const script = `
  CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR(20), since DATE, credit NUMERIC(9,2));
  INSERT INTO customer VALUES (1, 'Ada', '2020-01-31', 12.5);`;

Deno.test("the command line checks If-Match on a SQLite file", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/shop.db`;
  const db = new DatabaseSync(path);
  db.exec(script);
  db.close();
  await assertConditional(path);
});

const postgres = testPostgres();
testUnless(
  "missing" in postgres ? postgres.missing : null,
  "the command line checks If-Match on a Postgres database",
  async () => {
    if ("missing" in postgres) throw new Error(postgres.missing);
    const scratch = await createScratchDatabase(postgres.url);
    try {
      const db = await openDatabase(scratch.url);
      for (const text of script.split(";\n")) await db.driver.query({ text, values: [] });
      await db.close();
      await assertConditional(scratch.url);
    } finally {
      await scratch.drop();
    }
  },
);

async function assertConditional(place: string): Promise<void> {
  await using child = startChild([program, place, "--write", "--port", "0"]);
  const { input } = await child.printed(/^Try:\n {2}curl .*\n/m);
  const [, url = ""] = /(http:\/\/[^/]+)\/healthz/.exec(input) ?? [];
  const [, token = ""] = /Authorization: Bearer (\S+)/.exec(input) ?? [];
  const send = async (method: string, headers: Record<string, string>, body?: unknown) => {
    const answer = await fetch(`${url}/api/customer/1`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        authorization: `Bearer ${token}`,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await answer.body?.cancel();
    return { status: answer.status, tag: answer.headers.get("etag") ?? "" };
  };
  const { tag } = await send("GET", {});
  assertMatch(tag, /^W\/"[0-9a-f]{32}"$/);
  assertEquals((await send("GET", { "if-none-match": tag })).status, 304);
  for (const method of ["PATCH", "PUT", "DELETE"]) {
    const body = method === "DELETE" ? undefined : { name: "Grace" };
    const { status } = await send(method, { "if-match": 'W/"nope"' }, body);
    assertEquals([method, status], [method, 412]);
  }
  const changed = await send("PATCH", { "if-match": tag }, { name: "Grace" });
  assertEquals(changed.status, 200);
  assertEquals((await send("PATCH", { "if-match": tag }, { name: "Ada" })).status, 412);
  assertEquals((await send("DELETE", { "if-match": changed.tag })).status, 204);
}
