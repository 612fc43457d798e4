/** The requests, responses, events and settings that the documents show. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { all, createApp, integer, openDatabase, resource, table, text } from "../../mod.ts";
import { consoleObserver } from "../../exports/runtime.ts";
import { root } from "../repository/module_graph.ts";
import { startChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { block, runFragment } from "./blocks.ts";

const json = { "content-type": "application/json" };

/** The text of a stream until it matches. */
async function until(response: Response, wanted: RegExp): Promise<string> {
  let received = "";
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    received += part;
    if (wanted.test(received)) return received;
  }
  throw new Error(`The stream ended: ${response.status} ${received}`);
}

Deno.test("docs/queries.md: the demonstration responds as the page shows", async () => {
  await using folder = await scratchFolder();
  await using child = startChild([`${root}cli.ts`, "--port", "0"], { cwd: folder.path });
  const { input } = await child.printed(/^Try:\n {2}curl .*\n/m);
  const [, url = ""] = /(http:\/\/[^/]+)\/healthz/.exec(input) ?? [];
  const [, token = ""] = /Bearer (\S+)/.exec(input) ?? [];
  const list = await fetch(
    `${url}/api/books/aggregate?groupBy=inPrint&count=true&avg=rating&max=title`,
  );
  assertEquals(await list.json(), JSON.parse(block("docs/queries.md", '{\n  "groups": [')));

  const path = block("docs/queries.md", "/api/books/aggregate?groupBy=authorId&having=");
  const groups = await (await fetch(url + path)).json();
  assert(groups.groups.length > 0, JSON.stringify(groups));

  const event = block("docs/queries.md", "event: aggregate\ndata: {");
  const stream = await fetch(
    `${url}/api/books/aggregate/subscribe?groupBy=inPrint&count=true&avg=rating`,
  );
  assert((await until(stream, /^data: .*\n/m)).includes(event));

  const body = block("docs/queries.md", '{\n  "subscriptions": [');
  const live = await fetch(`${url}/__service/live`, { method: "POST", headers: json, body });
  const events = await until(live, /"key":"counts"[^]*event: aggregate\ndata: .*\n/);
  assertMatch(events, /"key":"top"/);

  const location = { href: "" };
  const link = block("docs/queries.md", 'const list = "/api/books?format=csv');
  await runFragment(link.replace("`${list}", `\`${url}\${list}`), { token, location });
  const file = await (await fetch(location.href)).text();
  assertMatch(file, /^\ufeff?id;authorId;title;/);
  // Deno printed a warning about the signal of the first request that reads it.
  assertEquals(/request\.signal/.test(child.stderr()), false, child.stderr());
});

Deno.test("docs/descriptions.md, docs/errors.md, docs/contracts/idempotency.md: a small service", async () => {
  const books = table("books", { id: integer().primaryKey() });
  const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
  const orders = table("orders", { id: integer().primaryKey() });
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([books, notes, orders]);
  const capabilities = { enableAggregations: false, enableSubscribe: false };
  const auth = { create: () => all() };
  const app = await createApp({
    ...{ db, kv: ":memory:", secret: "at least thirty-two characters long" },
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [
      resource(books, { id: books.id, auth: { public: { read: true } }, capabilities }),
      resource(notes, { id: notes.id, auth }),
      resource(orders, { id: orders.id, auth }),
    ],
  });
  const send = (path: string, init?: RequestInit) =>
    app.fetch(new Request(`http://127.0.0.1${path}`, init));
  const index = await (await send("/api/")).json();
  const shown = JSON.parse(block("docs/descriptions.md", '{\n  "resources": [{'));
  const [found] = index.resources.filter(({ name }: { name: string }) => name === "books");
  const wanted = shown.resources[0].requests.map(({ path }: { path: string }) => path);
  const requests = found.requests.filter(({ path }: { path: string }) => wanted.includes(path));
  assertEquals({ resources: [{ ...found, requests }] }, shown);

  const post = { method: "POST", headers: json };
  const refused = await send("/api/notes", { ...post, body: '{"title":5}' });
  assertEquals(await refused.json(), JSON.parse(block("docs/errors.md", '{\n  "type"')));

  const [line = "", header = ""] = block("docs/contracts/idempotency.md", "POST /api/orders")
    .split("\n");
  const [method = "", path = ""] = line.split(" ");
  const [name = "", key = ""] = header.split(": ");
  const twice = [1, 2].map(() => ({ method, headers: { ...json, [name]: key }, body: "{}" }));
  const replayed: unknown[] = [];
  for (const init of twice) {
    const response = await send(path, init);
    replayed.push([response.status, response.headers.get("idempotency-replayed")]);
    await response.body?.cancel();
  }
  assertEquals(replayed, [[201, null], [201, "true"]]);
  await app.close();
  await db.close();
});

Deno.test("docs/observability.md: the line of a request", () => {
  const shown = JSON.parse(block("docs/observability.md", '{\n  "time": "2026-01-01'));
  const { time, level: _level, event, ...facts } = shown;
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  consoleObserver({ format: "json", write, now: () => Date.parse(time) })({
    kind: event,
    ...facts,
  });
  assertEquals(lines.map((line) => JSON.parse(line)), [shown]);
});

testUnless(
  null,
  "docs/mcp.md: a client starts the service by its configuration",
  async () => {
    await using folder = await scratchFolder();
    new DatabaseSync(`${folder.path}/shop.db`).exec("CREATE TABLE tea (id INTEGER PRIMARY KEY)");
    const { shop } = JSON.parse(block("docs/mcp.md", '{\n  "mcpServers"')).mcpServers;
    assertEquals(shop.command, "deno");
    const client = new Client({ name: "tests", version: "1" });
    const args = shop.args.map((one: string) => one === "cli.ts" ? `${root}cli.ts` : one);
    const transport = { args, command: Deno.execPath(), cwd: folder.path } as const;
    await client.connect(new StdioClientTransport({ ...transport, stderr: "ignore" }));
    const { tools } = await client.listTools();
    assert(tools.some(({ name }) => name === "write_row"));
    await client.close();
  },
  // The client of the SDK leaves the timer by which it would kill the process.
  { sanitizeOps: false, sanitizeResources: false },
);
