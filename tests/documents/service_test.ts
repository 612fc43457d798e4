/** The fragments of programs that the documents show, each with the names that its page assumes. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createReadStream } from "node:fs";
import Database from "better-sqlite3";
import { drizzle } from "drizzle-0.45/better-sqlite3";
import { relations } from "drizzle-0.45";
import { integer as drizzleInteger, sqliteTable } from "drizzle-0.45/sqlite-core";
import * as front from "../../mod.ts";
import { charged, openCreditsLedger } from "../../exports/billing.ts";
import { passwordAuth } from "../../exports/auth.ts";
import { startStripeMock } from "../support/stripe_mock.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { withPostsPage } from "../client/support/posts_page.ts";
import { block, runFragment, valueOf } from "./blocks.ts";
import { z } from "zod";

const { all, createApp, integer, openDatabase, resource, table, text } = front;
const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const secret = "at least thirty-two characters long";

/** Runs a fragment that ends in `await serve(…)`, and then `work`. */
async function served(
  text: string,
  scope: Readonly<Record<string, unknown>>,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const onListen = () => {};
  const program = text.replace(
    "await serve({",
    "const server = await serve({ port, onListen, secret,",
  );
  const given = { ...front, port: 0, onListen, secret, ...scope };
  const server = await runFragment(program, given, "server") as Awaited<
    ReturnType<typeof front.serve>
  >;
  try {
    await work(server.url);
  } finally {
    await server.stop();
  }
}

async function withNotes(work: (db: front.Database) => Promise<void>): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  try {
    await work(db);
  } finally {
    await db.close();
  }
}

/** A variable of the environment with a value of the test. */
const environment = (values: Readonly<Record<string, string>>) =>
  Object.create(Deno, { env: { value: { get: (name: string) => values[name] } } });

const publicNotes = resource(notes, { id: notes.id, auth: { public: true, create: () => all() } });

/** Every request is one of Ada, a partner. */
const asAda: NonNullable<front.AppConfig["auth"]> = {
  middleware: async (context, next) => {
    context.set("user", { id: "ada", roles: ["partner"] });
    await next();
  },
};

async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(url, { redirect: "manual", ...init });
  await response.body?.cancel();
  return response.status;
}

Deno.test("docs/authentication.md: a login needs a CAPTCHA after failures, and a signup work", () =>
  withNotes(async (db) => {
    const auth = await valueOf(
      block("docs/authentication.md", "passwordAuth({\n  login: { captcha"),
      {
        passwordAuth,
      },
    );
    const asked: unknown[] = [];
    const verify = (question: unknown) => (asked.push(question), Promise.resolve({ ok: false }));
    const app = await createApp({
      ...{ db, secret, kv: ":memory:", auth: { use: [auth as never] }, resources: [] },
      abuseProtection: {
        captcha: { verifier: { provider: "own", siteKey: "k", verify } as never },
      },
    });
    const post = async (path: string, body: unknown) => {
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const response = await app.fetch(new Request(`http://127.0.0.1/api/auth${path}`, init));
      return [response.status, (await response.json()).code];
    };
    const user = { email: "ada@example.com", password: "a password of many words" };
    assertEquals(await post("/signup", user), [428, "PROOF_OF_WORK_REQUIRED"]);
    const codes: unknown[] = [];
    for (let tries = 0; tries < 7; tries++) codes.push((await post("/login", user))[1]);
    assertEquals([codes[5], codes[6]], ["UNAUTHORIZED", "CAPTCHA_REQUIRED"]);
    await app.close();
  }));

testUnless(
  await startStripeMock.missing(),
  "docs/billing.md: a checkout of a plan, whose body is the one of the page",
  async () => {
    await using mock = await startStripeMock();
    await using folder = await scratchFolder();
    const program = block("docs/billing.md", 'import { createApp } from "@svc/resource-api";')
      .replace("apiKey:", `baseUrl: "${mock.url}", apiKey:`)
      .replace('"app.kv"', `"${folder.path}/app.kv"`)
      .replace("Deno.serve(", "const server = Deno.serve({ port: 0, onListen() {} }, ");
    const db = await openDatabase("sqlite::memory:");
    const env = { STRIPE_KEY: "sk_test_1", STRIPE_WEBHOOK_SECRET: "whsec_1" };
    const scope = { db, auth: asAda, resources: [], Deno: environment(env) };
    const [app, server, billing] = await runFragment(
      program,
      scope,
      "[app, server, billing]",
    ) as [front.App, Deno.HttpServer<Deno.NetAddr>, { close(): Promise<void> }];
    const response = await fetch(`http://127.0.0.1:${server.addr.port}/api/billing/checkout`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: block("docs/billing.md", '{ "planKey": "pro"'),
    });
    const answer = await response.json();
    assertEquals([response.status, typeof answer.url], [200, "string"], JSON.stringify(answer));
    await server.shutdown();
    await app.close();
    await billing.close();
    await db.close();
  },
);

Deno.test("docs/billing.md: a job continues its reservation, and a procedure costs credits", async () => {
  const credits = await openCreditsLedger({ kv: ":memory:" });
  await credits.grant("ada", 100);
  const again = block("docs/billing.md", "let { reservation } = await credits.reserve(");
  const first = await runFragment(again, { credits }, "reservation");
  assertEquals(await runFragment(again, { credits }, "reservation"), first);
  const procedure = block("docs/billing.md", "const render = procedure({").replace("…", "id + 1");
  const scope = {
    ...{ procedure: front.procedure, charged, billing: { credits } },
    ...{ input: z.object({ id: z.number() }), output: z.number() },
  };
  const render = await runFragment(procedure, scope, "render") as {
    handler(context: unknown, input: unknown): Promise<unknown>;
  };
  assertEquals(await render.handler({ user: { id: "ada" } }, { id: 1 }), 2);
  assertEquals(await credits.balance("ada"), 45);
  await credits.close();
});

Deno.test("docs/captcha.md: a create needs the CAPTCHA of the page", () =>
  withNotes(async (db) => {
    const scope = { db, notes, auth: asAda, Deno: environment({ TURNSTILE_SECRET: "1x0000" }) };
    const program = block("docs/captcha.md", "import { all, resource, serve }")
      .replace("db,", "db, auth, kv: ':memory:',");
    await served(program, scope, async (url) => {
      const headers = { "content-type": "application/json" };
      const created = await fetch(`${url}/api/notes`, { method: "POST", headers, body: "{}" });
      assertEquals((await created.json()).code, "CAPTCHA_REQUIRED");
    });
  }));

Deno.test("docs/code.md: rows of a file, and a transaction", async () => {
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/notes.csv`, "title\none\ntwo\n");
  const orders = table("orders", { id: integer().primaryKey(), customer: text().notNull() });
  const lines = table("lines", { id: integer().primaryKey(), orderId: integer().notNull() });
  const stock = table("stock", { id: integer().primaryKey(), n: integer().notNull() });
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes, orders, lines, stock]);
  await db.sql`INSERT INTO ${stock} VALUES (1, 5)`;
  const options = { auth: { create: () => all() }, capabilities: { enableBatch: true } };
  const app = await createApp({
    ...{ db, secret },
    resources: [
      resource(notes, { id: notes.id, ...options }),
      resource(orders, { id: orders.id, ...options }),
      resource(lines, { id: lines.id, ...options }),
    ],
  });
  const counts: number[] = [];
  const imported = block("docs/code.md", "const { rows, written } = await app.import(")
    .replace('"notes.csv"', `"${folder.path}/notes.csv"`);
  const scope = { app, createReadStream, console: { log: (rows: number) => counts.push(rows) } };
  assertEquals(await runFragment(imported, scope, "[rows, written]"), [2, 2]);
  assertEquals(counts.at(-1), 2);
  const transaction = block("docs/code.md", "await app.as(user).transaction(").replace(
    "…",
    "n = n - 1",
  );
  const given = { ...{ app, stock, user: { id: "ada" }, customer: "Ada" }, lines: [{}, {}] };
  await runFragment(transaction, given);
  const { rows } = await db.sql`SELECT n, (SELECT count(*) FROM ${lines}) AS lines FROM ${stock}`;
  assertEquals(rows, [{ n: 4, lines: 2 }]);
  await app.close();
  await db.close();
});

Deno.test("docs/configuration: the budget of each class, and nested relations", async () => {
  const { budget } = await valueOf(
    block("docs/configuration/abuse-protection.md", "budget: {\n  classes"),
  ) as { budget: front.AppConfig["abuseProtection"] };
  const tagColumns = { id: integer().primaryKey(), name: text() };
  const artists = table("artists", { id: integer().primaryKey(), name: text().notNull() });
  const albums = table("albums", {
    id: integer().primaryKey(),
    title: text().notNull(),
    artistId: integer(),
  });
  const tags = table("tags", tagColumns);
  const pair = { artistId: integer().primaryKey(), tagId: integer().primaryKey() };
  const artistTags = table("artist_tags", pair);
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([artists, albums, tags, artistTags]);
  await db.sql`INSERT INTO ${tags} VALUES (1, 'a'), (2, 'b'), (7, 'c')`;
  const rights = { create: () => all(), update: () => all(), delete: () => all() };
  const open = { auth: { public: true, ...rights } } as const;
  const [albumResource, tagResource] = [
    resource(albums, { id: albums.id, ...open }),
    resource(tags, { id: tags.id, ...open }),
  ];
  const text_ = block("docs/configuration/relations.md", "resource(artists, {\n  id: artists.id");
  const scope = { ...front, artists, artistTags };
  const shown = await valueOf(
    text_.replace(/\n\/\/[^]*$/, "").replaceAll("resource: albums", 'resource: "albums"')
      .replaceAll("resource: tags", 'resource: "tags"'),
    { ...scope, albums, tags },
  );
  const requests = [...text_.matchAll(/^\/\/ (POST|PATCH) (\S+) (.*)$/gm)];
  const app = await createApp({
    ...{ db, secret, resources: [shown as never, albumResource, tagResource] },
    abuseProtection: { budget } as never,
    auth: asAda,
  });
  const statuses: number[] = [];
  for (const [, method = "", path = "", body = ""] of requests) {
    const headers = { "content-type": "application/json" };
    const request = new Request(`http://127.0.0.1${path}`, { method, headers, body });
    const response = await app.fetch(request);
    statuses.push(response.status);
    assertMatch(response.headers.get("ratelimit") ?? "", /r=19\d\d\d/);
    await response.body?.cancel();
  }
  assertEquals(statuses, [201, 200]);
  const tagged = await db.sql`SELECT ${artistTags.tagId} AS tag FROM ${artistTags} ORDER BY 1`;
  assertEquals(tagged.rows, [{ tag: 1 }, { tag: 2 }]);
  await app.close();
  await db.close();
});

Deno.test("docs/configuration/database.md: SQL calls the functions of a module", async () => {
  await using folder = await scratchFolder();
  const [file, data] = [`${folder.path}/functions.ts`, `${folder.path}/metadata.db`];
  await Deno.writeTextFile(file, block("docs/configuration/database.md", "// functions.ts"));
  new Database(data).close();
  const program = block("docs/configuration/database.md", 'const db = await openDatabase("sqlite:')
    .replace("import.meta.url", JSON.stringify(`file://${file}`))
    .replace("sqlite:metadata.db", `sqlite:${data}`);
  const db = await runFragment(program, front, "db") as front.Database;
  const text = `SELECT title_sort('The Trial') AS title, folded('AB') AS folded,
    (SELECT sortconcat(n, name) FROM (SELECT 'b' AS name, 2 AS n UNION SELECT 'a', 1)) AS names`;
  const { rows } = await db.query({ text, values: [] });
  await db.close();
  assertEquals(rows.map((row) => Object.values(row)), [["Trial, The", "ab", "a & b"]]);
});

Deno.test("docs/dashboard.md, docs/mcp.md: a service with a dashboard and with tools", () =>
  withNotes(async (db) => {
    const scope = { db, resources: [publicNotes], auth: { use: [passwordAuth()] } };
    const dashboard = block("docs/dashboard.md", "await serve({\n  db,")
      .replace("db,", "db, kv: ':memory:', auth,");
    await served(dashboard, scope, async (url) => {
      assertEquals(await statusOf(`${url}/__service/ui/`), 200);
    });
    await served(block("docs/mcp.md", "await serve({ db, resources, mcp"), scope, async (url) => {
      const listed = await fetch(`${url}/__service/mcp`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
      });
      assertMatch(await listed.text(), /query_rows/);
    });
  }));

Deno.test("docs/web.md: a built page with a policy of its own, and in front of Vite", () =>
  withNotes(async (db) => {
    await using folder = await scratchFolder();
    await Deno.mkdir(`${folder.path}/web/dist`, { recursive: true });
    await Deno.writeTextFile(`${folder.path}/web/dist/index.html`, "<title>the page</title>");
    const vite = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      () => new Response("<title>vite</title>", { headers: { "content-type": "text/html" } }),
    );
    const vites = { VITE_URL: `http://127.0.0.1:${vite.addr.port}` };
    const scope = { db, resources: [publicNotes], Deno: environment(vites) };
    const page = async (text: string) => {
      const program = text.replace('"web/dist"', `"${folder.path}/web/dist"`);
      let found: readonly [string, string | null] = ["", null];
      await served(program, scope, async (url) => {
        const response = await fetch(url, { headers: { accept: "text/html" } });
        found = [await response.text(), response.headers.get("content-security-policy")];
      });
      return found;
    };
    const [plain] = await page(block("docs/web.md", "await serve({ db, resources, web"));
    const [, policy] = await page(
      block("docs/web.md", 'await serve({\n  db,\n  resources,\n  web: { folder: "web/dist", csp'),
    );
    const [developed] = await page(
      block("docs/web.md", 'await serve({\n  db,\n  resources,\n  web: { folder: "web/dist", dev'),
    );
    await vite.shutdown();
    assertMatch(plain, /the page/);
    assertMatch(policy ?? "", /img-src 'self' https:\/\/cdn\.example/);
    assertMatch(developed, /vite/);
  }));

Deno.test("docs/drizzle.md: tables, triggers, single tables and relations of Drizzle", async () => {
  await using folder = await scratchFolder();
  const file = `${folder.path}/notes.db`;
  const client = new Database(file);
  client.exec(
    `CREATE TABLE notes (id INTEGER PRIMARY KEY, owner_id TEXT NOT NULL, title TEXT NOT NULL,
    created_at INTEGER, createdAt INTEGER)`,
  );
  const first = block("docs/drizzle.md", "import { all, createApp, eq, openDatabase, resource }")
    .replace("sqlite:notes.db", `sqlite:${file}`)
    .replace("createApp({", "createApp({ secret,");
  const [app, drizzleNotes] = await runFragment(first, { secret }, "[app, notes]") as [
    front.App,
    never,
  ];
  const created = await app.asSystem().of("notes").create(
    { ownerId: "ada", title: "tea" } as never,
  );
  assertEquals((created.value as unknown as { title: string }).title, "tea");
  await app.close();

  const resources = [resource(drizzleNotes, { id: ["id"], auth: { public: true } } as never)];
  const scope = { ...front, drizzle, client, resources, notes: drizzleNotes };
  const triggers = block("docs/drizzle.md", "const app = await createApp({ db: drizzle(client)")
    .replace("resources", `resources, secret: "${secret}"`);
  const recorded = await runFragment(triggers, scope, "app") as front.App;
  const count = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'";
  assert(Number(client.prepare(count).pluck().get()) > 0);
  await recorded.close();
  const tracked = block("docs/drizzle.md", "import { openDatabase, trackMutations }");
  const db = await runFragment(tracked, scope, "db") as front.Database;
  await db.close();

  const schemaFile = `${folder.path}/schema.ts`;
  await Deno.writeTextFile(schemaFile, "");
  const users = sqliteTable("users", { id: drizzleInteger().primaryKey() });
  const owned = sqliteTable("notes", {
    id: drizzleInteger().primaryKey(),
    userId: drizzleInteger(),
  });
  const schema = {
    ...{ notes: owned, users },
    owners: relations(owned, ({ one }) => ({
      user: one(users, { fields: [owned.userId], references: [users.id] }),
    })),
  };
  const related = block("docs/drizzle.md", "import { drizzleRelations }")
    .replace(/import \* as schema.*\n/, "").replace("resource(", "const notes = resource(");
  const shown = await runFragment(related, { ...front, schema }, "notes") as {
    options: { relations: object };
  };
  assertEquals(Object.keys(shown.options.relations), ["user"]);
  client.close();
});

Deno.test("the guides from other services: a live list in place of a list and events", () =>
  withPostsPage(async ({ api }) => {
    const pocketbase = block("docs/guides/from-pocketbase.md", "// PocketBase\n");
    const supabase = block("docs/guides/from-supabase.md", "// supabase-js");
    for (const text of [pocketbase, supabase]) {
      const [, ours = ""] = text.split(/^\/\/ (?:this service|the typed client).*\n/m);
      const renamed = ours.replace(/filter: "[^"]+"/, 'filter: "id>0"')
        .replace("-createdAt", "-id").replace("api.todos", "api.posts");
      const { liveList } = await import("../../exports/client.ts");
      const states: string[] = [];
      const show = (_items: unknown, status: string) => states.push(status);
      const store = text === pocketbase ? "posts" : "open";
      const end = await runFragment(
        renamed.replace(/^(\w+\.subscribe)/m, "const end = $1"),
        { api, liveList, show },
        `[end, ${store}][0]`,
      ) as () => void;
      while (!states.includes("live")) await new Promise((resolve) => setTimeout(resolve, 5));
      end();
    }
  }));
