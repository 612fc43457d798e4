/** The fragments of docs/client.md, on a service with posts, accounts and notes. */
import { assertEquals, assertMatch } from "@std/assert";
import { signal } from "@preact/signals-core";
import { act, createElement } from "react";
import { derived, writable } from "svelte/store";
import { Window } from "happy-dom";
import { all, createApp, integer, openDatabase, resource, table, text } from "../../../mod.ts";
import { passwordAuth } from "../../../exports/auth.ts";
import * as client from "../../../exports/client.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { insertRows } from "../../support/http.ts";
import { fastEnvironment } from "../../client/support/fast_environment.ts";
import { eventually } from "../../client/support/posts_page.ts";
import { block, runFragment } from "../blocks.ts";

const authors = table("authors", { id: integer().primaryKey(), name: text().notNull() });
const posts = table("posts", {
  id: integer().primaryKey(),
  title: text().notNull(),
  status: text().notNull().default("open"),
  authorId: integer().notNull().default(1),
});
const comments = table("comments", {
  id: integer().primaryKey(),
  postId: integer().notNull(),
  body: text().notNull(),
});
const issues = table("issues", {
  id: integer().primaryKey(),
  title: text().notNull(),
  status: text().notNull(),
});
const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const ada = { email: "ada@example.com", password: "a password of many words" };

/** The names that the fragments use, and what they have shown. */
interface Page {
  readonly origin: string;
  // deno-lint-ignore no-explicit-any -- the fragments are not compiled
  readonly api: client.Client<any>;
  readonly scope: Readonly<Record<string, unknown>>;
  readonly shown: unknown[];
  until(condition: () => boolean): Promise<void>;
}

async function withPage(work: (page: Page) => Promise<void>): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([authors, posts, comments, issues, notes]);
  await insertRows(db, authors, [{ id: 1, name: "Ada" }]);
  await insertRows(db, posts, [{ id: 1, title: "one", status: "open", authorId: 1 }]);
  await insertRows(db, issues, [{ id: 1, title: "one", status: "open" }]);
  await insertRows(db, comments, [{ id: 1, postId: 1, body: "well" }]);
  const writers = { create: () => all(), update: () => all(), delete: () => all() };
  const options = { auth: { public: true, ...writers }, etag: {} } as const;
  const app = await createApp({
    ...{ db, kv: ":memory:", secret: "at least thirty-two characters long" },
    runtime: { ...systemRuntime(() => {}), cron: undefined },
    auth: { use: [passwordAuth({ signup: { verify: false } })] },
    idempotency: { storage: "db" },
    resources: [
      resource(authors, { id: authors.id, ...options }),
      resource(issues, { id: issues.id, ...options }),
      resource(comments, { id: comments.id, ...options }),
      resource(notes, { id: notes.id, auth: { read: () => all(), subscribe: () => all() } }),
      resource(posts, {
        id: posts.id,
        ...options,
        capabilities: { enableExport: true, enableImport: true },
        relations: {
          author: { type: "belongsTo", resource: "authors", foreignKey: posts.authorId },
          comments: { type: "hasMany", resource: "comments", foreignKey: comments.postId },
        },
      }),
    ],
  });
  let open = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request, info) => {
    open++;
    info.completed.finally(() => open--).catch(() => {});
    return app.fetch(request, info);
  });
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ ...ada, transport: "bearer" });
  const signup = await fetch(`${origin}/api/auth/signup`, { method: "POST", headers, body });
  const { token } = await signup.json();
  const shown: unknown[] = [];
  const show = (...values: unknown[]) => void shown.push(values);
  // deno-lint-ignore no-explicit-any -- the fragments are not compiled
  const api = client.createClient<any>({
    baseUrl: origin,
    token,
    environment: fastEnvironment(20),
  });
  const scope = { ...client, api, show, console: { log: show }, user: { id: "ada" } };
  const until = (condition: () => boolean) => eventually(condition, () => JSON.stringify(shown));
  try {
    await work({ origin, api, scope, shown, until });
    // A connection without lists closes a little later, for a page that opens others.
    await until(() => open === 0);
  } finally {
    await app.close();
    await server.shutdown();
    await db.close();
  }
}

/** The client keeps timers for a page that opens further lists. */
function testFragments(name: string, work: (page: Page) => Promise<void>): void {
  const options = { sanitizeOps: false, sanitizeResources: false };
  Deno.test({ name: `docs/client.md: ${name}`, ...options, fn: () => withPage(work) });
}

testFragments("a list includes related rows and counts", async ({ scope }) => {
  const text = block("docs/client.md", "const { items } = await api.posts.list({");
  const result = "[items[0].author.name, items[0].comments[0].body, items[0]._aggregates.comments]";
  assertEquals(await runFragment(text, scope, result), ["Ada", "well", { count: 1 }]);
});

testFragments("a button downloads a file, and a file is imported", async ({ scope, shown }) => {
  const [button, location] = [{ onclick: async () => {} }, { href: "" }];
  const download = block("docs/client.md", "import { exportUrl }");
  await runFragment(download, { ...scope, button, location });
  await button.onclick();
  assertMatch(await (await fetch(location.href)).text(), /^id,title,status,authorId\r\n1,one,/);

  const read = block("docs/client.md", "import { ImportError, importFile }");
  const bar = { value: 0 };
  const input = { files: [new File(["title;status\ntwo;done\n"], "posts.csv")] };
  await runFragment(read, { ...scope, input, bar });
  assertEquals([bar.value, shown], [1, []]);
  input.files = [new File(["title;staatus\nthree;done\n"], "posts.csv")];
  await runFragment(read, { ...scope, input, bar });
  assertEquals(shown.length, 1, "the refused line is shown");
});

testFragments(
  "a live list and a count follow the writes of other clients",
  async ({ api, scope, shown, until }) => {
    const list = block("docs/client.md", "const open = liveList(api.posts, {");
    const close = await runFragment(list, scope, "close") as () => void;
    await until(() => shown.some((one) => JSON.stringify(one) === '["live",1]'));
    await api.posts?.create({ title: "two" });
    await until(() => shown.some((one) => JSON.stringify(one) === '["live",2]'));
    close();

    const counted = block("docs/client.md", 'const filter = rsql`status==${"open"}`;');
    const result = "[latest, total]";
    const [latest] = await runFragment(counted, scope, result) as [client.LiveList<{ id: number }>];
    const ids: number[][] = [];
    const end = latest.subscribe(({ items }) => ids.push(items.map(({ id }) => id)));
    await until(() => ids.at(-1)?.join() === "2,1" && String(shown.at(-1)) === "2 posts");
    end();
  },
);

testFragments("a list begins with the rows that a server has read", async ({ scope }) => {
  const text = block("docs/client.md", "const seed = await prefetch(api.posts, query);");
  const query = { orderBy: ["-id"] };
  const list = await runFragment(text, { ...scope, query }, "list") as client.LiveList<unknown>;
  assertEquals(list.get().items.length, 1);
});

testFragments("a queued write is shown, sent and acknowledged", async ({ scope, shown }) => {
  const text = block("docs/client.md", "const outbox = createOutbox(api, {");
  const [row, outbox] = await runFragment(text, scope, "[row, outbox]") as [
    { title: string },
    { close(): void },
  ];
  outbox.close();
  assertEquals([row.title, shown], ["New", []]);
});

testFragments(
  "a page logs in and out, by a cookie or a token, and lists follow the user",
  async ({ origin, scope, shown, until }) => {
    const given = { ...scope, password: ada.password };
    const cookie = block("docs/client.md", "import { createAuth, createClient }")
      .replace('baseUrl: ""', `baseUrl: "${origin}"`);
    const stop = await runFragment(cookie, given, "stop") as () => void;
    stop();
    const states = shown.map((one) => String(one));
    assertEquals(states.slice(-2), [`signed-in,${ada.email}`, "signed-out,"]);

    const bearer = block("docs/client.md", "let token: string | null = null;")
      .replace("https://api.example.com", origin);
    const [api, auth] = await runFragment(bearer, given, "[api, auth]") as [
      unknown,
      client.Auth,
    ];
    shown.length = 0;
    await runFragment(block("docs/client.md", "let stop = () => {};"), { ...scope, api, auth });
    await auth.logIn(ada);
    await until(() => JSON.stringify(shown.at(-1))?.includes('"status":"live"') === true);
    await auth.logOut();
    assertEquals(auth.get().user, null);
  },
);

testFragments("lists in React, Svelte, Preact and TanStack DB", async ({ scope, until }) => {
  const window = new Window();
  const globals = { window, document: window.document, IS_REACT_ACT_ENVIRONMENT: true };
  Object.assign(globalThis, globals);
  const react = block("docs/client.md", "import { useLiveList }");
  const Posts = await runFragment(react, { ...scope, createElement }, "Posts");
  const { createRoot } = await import("react-dom/client");
  const element = window.document.createElement("div");
  // The element is that of happy-dom, which has what React uses of one.
  const root = createRoot(element as unknown as Parameters<typeof createRoot>[0]);
  const component = Posts as (properties: { author: number }) => null;
  await act(() => root.render(createElement(component, { author: 1 })));
  await act(() => until(() => element.innerHTML === "<ul><li>one</li></ul>"));
  await act(() => root.unmount());
  await window.happyDOM.close();
  for (const name of Object.keys(globals)) Reflect.deleteProperty(globalThis, name);

  const author = writable(1);
  const svelte = block("docs/client.md", "const posts = derived(");
  const posts = await runFragment(svelte, { ...scope, derived, author }, "posts") as {
    subscribe(listener: (state?: { items: unknown[] }) => void): () => void;
  };
  let count = -1;
  const end = posts.subscribe((state) => count = state?.items.length ?? -1);
  await until(() => count === 1);
  end();

  const { liveList, api } = scope as { liveList: typeof client.liveList; api: { posts: never } };
  const open = liveList(api.posts);
  const preact = block("docs/client.md", "const state = signal(open.get());");
  const state = await runFragment(preact, { ...scope, open, signal }, "state");
  await until(() => (state as { value: { items: unknown[] } }).value.items.length === 1);

  const tanstack = block("docs/client.md", 'import { createCollection } from "@tanstack/db";');
  const issue = await runFragment(tanstack, scope, "issues.get(1)") as { title: string };
  assertEquals(issue.title, "New");
});

testFragments(
  "a page without a build step imports the client",
  async ({ origin, scope, until }) => {
    const [, script = ""] = /<script[^>]*>([^]*)<\/script>/.exec(
      block("docs/client.md", '<script type="module">'),
    ) ?? [];
    const served = await fetch(`${origin}/__service/client.js`);
    const url = `data:text/javascript;base64,${(await served.bytes()).toBase64()}`;
    const text = script.replace("/__service/client.js", url)
      .replace('baseUrl: ""', `baseUrl: "${origin}"`);
    const result = "liveList(api.posts)";
    const list = await runFragment(text, { console: scope.console }, result) as client.LiveList<
      unknown
    >;
    const end = list.subscribe(() => {});
    await until(() => list.get().items.length === 1);
    end();
  },
);
