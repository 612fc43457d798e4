import { assertEquals, assertMatch } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openReopening } from "../../src/cli/reopen/reopening_service.ts";
import { withSharedSecrets } from "../../src/cli/reopen/shared_secrets.ts";
import { prepareService } from "../../src/cli/prepare_service.ts";
import { openService } from "../../src/cli/run_service.ts";
import { parseServeArguments } from "../../src/cli/serve_arguments.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { type EventStream, openEventStream } from "../support/event_stream.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

/** A database, and another program that changes it. */
interface Altered extends AsyncDisposable {
  readonly place: string;
  run(...statements: readonly string[]): Promise<void>;
}

const server = testPostgres();

/** The command line over a database, in this process. */
interface Served extends AsyncDisposable {
  // deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
  ask(method: string, path: string, body?: unknown): Promise<readonly [status: number, body: any]>;
  follow(path: string, resumeFrom?: string): Promise<EventStream>;
  /** The kinds of what was observed. */
  readonly observed: string[];
  /** Resolves once the tables are served as they are. */
  reopened(): Promise<void>;
}

const token = "a-token-of-the-tests";

async function serve(place: string, ...options: readonly string[]): Promise<Served> {
  const command = parseServeArguments([place, ...options]);
  if (command.kind !== "serve") throw new Error(JSON.stringify(command));
  const observed: string[] = [];
  let waiting: (() => void)[] = [];
  const runtime = systemRuntime((observation) => {
    observed.push(observation.kind);
    if (observation.kind !== "tables_changed") return;
    for (const resolve of waiting) resolve();
    waiting = [];
  });
  const open = async (runtime: Runtime) => {
    const service = await prepareService(command, { runtime, token });
    const shared = { secret: "a secret of the tests", endsWith: null };
    return await openService({
      ...service,
      config: withSharedSecrets(service.config, shared, runtime),
    });
  };
  const { app } = await openReopening({
    open,
    watches: command.watchSchema,
    takesSignals: true,
    runtime,
  });
  // There is no listener, and timers of the service keep no process alive.
  const alive = setInterval(() => {}, 1_000);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return {
    observed,
    async ask(method, path, body) {
      const init = {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      };
      const response = await app.fetch(new Request(`http://localhost/api/${path}`, init));
      const text = await response.text();
      return [response.status, text === "" ? null : JSON.parse(text)];
    },
    follow: (path, resumeFrom) =>
      openEventStream(
        (signal) => {
          const token = resumeFrom === undefined ? {} : { "last-event-id": resumeFrom };
          const init = { headers: { ...headers, ...token }, signal };
          return app.fetch(new Request(`http://localhost/api/${path}`, init));
        },
        () => {},
      ),
    reopened: () => new Promise((resolve) => waiting.push(resolve)),
    async [Symbol.asyncDispose]() {
      await app.close();
      clearInterval(alive);
    },
  };
}

async function sqliteFile(scheme: string): Promise<Altered> {
  const folder = await scratchFolder();
  const db = new DatabaseSync(`${folder.path}/shop.db`);
  return {
    place: `${scheme}:${folder.path}/shop.db`,
    run: async (...statements) => await Promise.resolve(db.exec(statements.join(";"))),
    async [Symbol.asyncDispose]() {
      db.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function postgresDatabase(): Promise<Altered> {
  if ("missing" in server) throw new Error(server.missing);
  const scratch = await createScratchDatabase(server.url);
  const db = await openDatabase(scratch.url);
  return {
    place: scratch.url,
    run: async (...statements) => {
      for (const text of statements) await db.query({ text, values: [] });
    },
    async [Symbol.asyncDispose]() {
      await db.close();
      await scratch.drop();
    },
  };
}

const kinds = [
  { name: "better-sqlite3", open: () => sqliteFile("sqlite"), missing: null },
  { name: "node:sqlite", open: () => sqliteFile("node-sqlite"), missing: null },
  {
    name: "postgres",
    open: postgresDatabase,
    missing: "missing" in server ? server.missing : null,
  },
];

for (const { name, open, missing } of kinds) {
  testUnless(
    missing,
    `${name}: tables that another program alters are served as they are`,
    async () => {
      await using db = await open();
      await db.run(
        `CREATE TABLE notes (id integer PRIMARY KEY, title text, body text, n integer)`,
        `CREATE TABLE tags (id integer PRIMARY KEY, n bigint DEFAULT 9007199254740993)`,
        `INSERT INTO notes VALUES (1, 'a', 'b', 1), (2, 'c', 'd', 2)`,
      );
      await using served = await serve(db.place);
      const { ask } = served;
      const page = (await ask("GET", "notes?limit=1&select=id"))[1].nextCursor;
      await db.run(`ALTER TABLE notes RENAME COLUMN title TO heading`);
      assertEquals(await ask("GET", "notes/1"), [200, { id: 1, heading: "a", body: "b", n: 1 }]);
      await db.run(`ALTER TABLE notes DROP COLUMN body`);
      assertEquals(await ask("GET", "notes/1"), [200, { id: 1, heading: "a", n: 1 }]);
      const [status, { items }] = await ask("GET", `notes?select=id&cursor=${page}`);
      assertEquals(
        [status, items],
        [200, [{ id: 2 }]],
        "a cursor is good for a table that has changed",
      );
      await db.run(`DROP TABLE tags`);
      assertEquals((await ask("GET", "tags"))[0], 404);
      await db.run(`CREATE TABLE fresh (id integer PRIMARY KEY)`);
      assertEquals((await ask("GET", "fresh"))[0], 404);
      const reopened = served.reopened();
      Deno.kill(Deno.pid, "SIGHUP");
      await reopened;
      assertEquals(await ask("GET", "fresh"), [200, {
        items: [],
        nextCursor: null,
        hasMore: false,
      }]);
      const foundByItself = served.reopened();
      await db.run(`CREATE TABLE later (id integer PRIMARY KEY)`);
      // A migration may have more to come.
      await foundByItself;
      assertEquals((await ask("GET", "later"))[0], 200);
      await db.run(`DROP TABLE later`, `DROP TABLE fresh`, `DROP TABLE notes`);
      // Nothing is left that could be served, and what was is not there.
      assertEquals((await ask("GET", "notes"))[1].code, "SCHEMA_CHANGED");
      await db.run(`CREATE TABLE notes (id integer PRIMARY KEY, title text)`);
      const [again] = await ask("GET", "notes");
      assertEquals(again, 200);
    },
  );

  testUnless(
    missing,
    `${name}: streams of a table that another program alters or makes again show no row that is wrong and miss none`,
    async () => {
      await using db = await open();
      await db.run(
        `CREATE TABLE notes (id integer PRIMARY KEY, title text, n integer)`,
        `CREATE TABLE tags (id integer PRIMARY KEY, label text)`,
        `INSERT INTO notes VALUES (1, 'a', 1), (2, 'c', 2)`,
      );
      await using served = await serve(db.place, "--write", "--triggers", "--watch-schema");
      const before = await served.follow("notes/subscribe");
      await before.untilSynced();
      const others = await served.follow("tags/subscribe");
      await others.untilSynced();
      const known = await others.untilToken();
      const renamed = served.reopened();
      await db.run(`ALTER TABLE notes RENAME COLUMN title TO heading`, `UPDATE notes SET n = 3`);
      for (const { type, data } of await before.untilEnd()) {
        // The names are in the triggers of SQLite, those of before.
        if (type === "changed") assertMatch(data.item.title, /^[ac]$/);
      }
      await renamed;
      const after = await served.follow("notes/subscribe");
      await after.untilSynced();
      const token = await after.untilToken();
      const reopened = served.reopened();
      await db.run(
        `CREATE TABLE copy (id integer PRIMARY KEY, heading text, n integer)`,
        `INSERT INTO copy SELECT id, heading, n FROM notes`,
        `DROP TABLE notes`,
        `ALTER TABLE copy RENAME TO notes`,
        `UPDATE notes SET n = 7 WHERE id = 2`,
      );
      await reopened;
      const again = await served.follow("notes/subscribe", token);
      assertEquals((await again.next())?.type, "invalidate");
      const [page] = await again.untilSynced();
      assertEquals(page?.data.items.map(({ n }: { n: number }) => n), [3, 7]);
      await db.run(`UPDATE notes SET n = 8 WHERE id = 1`);
      assertEquals((await again.next())?.data.item.n, 8);
      await again.close();
      await db.run(`INSERT INTO tags VALUES (1, 'x')`);
      const tags = await served.follow("tags/subscribe", known);
      assertEquals((await tags.next())?.data.item.label, "x");
      await tags.close();
    },
  );
}
