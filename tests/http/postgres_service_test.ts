import { assert, assertEquals } from "@std/assert";
import {
  all,
  createApp,
  type Database,
  integer,
  openDatabase,
  resource,
  table,
  text,
} from "../../mod.ts";
import type { Observation } from "../../exports/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { postgresProxy } from "../db/postgres_proxy.ts";
import { type Answer, insertRows } from "../support/http.ts";
import { gate } from "../support/scratch.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const drafts = table("drafts", { id: integer().primaryKey(), title: text().notNull() });
const open = { public: true, create: () => all(), update: () => all(), delete: () => all() };

test(
  "writes that wait for one locked row hold connections no longer than other requests wait",
  async (url, admin) => {
    const [isHeld, end] = [gate(), gate()];
    const holder = admin.driver.transaction(async (connection) => {
      await connection.query({ text: "SELECT 1 FROM notes WHERE id = 1 FOR UPDATE", values: [] });
      isHeld.open();
      await end.passed;
    });
    await isHeld.passed;
    await withApp(url, async ({ send, observed }) => {
      const writes = Array.from({ length: 10 }, () => send("PATCH", "notes/1", { title: "b" }));
      for (const { status, headers, body } of await Promise.all(writes)) {
        assertEquals([status, headers.get("retry-after")], [503, "1"]);
        assertEquals(body.detail, "Cannot update: the database is not available");
      }
      const batch = await send("PATCH", "notes/batch", { filter: "id==1", patch: { title: "b" } });
      assertEquals(batch.status, 503);
      assertEquals((await send("GET", "notes/1")).status, 200);
      assertEquals((await send("PATCH", "notes/2", { title: "b" })).status, 200);
      end.open();
      await holder;
      assertEquals((await send("PATCH", "notes/1", { title: "b" })).status, 200);
      assertEquals(observed.filter(({ kind }) => kind === "request_failed").length, 11);
    });
  },
);

test("a statement that the service's role may not run is a 403 without SQL", async (url, admin) => {
  const role = `limited_${crypto.randomUUID().slice(0, 8)}`;
  const sql = async (text: string) => {
    for (const part of text.split(";")) await admin.driver.query({ text: part, values: [] });
  };
  await sql(`CREATE ROLE ${role}; GRANT SELECT, UPDATE ON notes TO ${role};
    ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
    CREATE POLICY seen ON notes FOR SELECT USING (true);
    CREATE POLICY kept ON notes FOR UPDATE USING (true) WITH CHECK (title <> 'no')`);
  const { rows: [[name] = []] } = await admin.driver.query({
    text: "SELECT current_database()",
    values: [],
  });
  // Every session from now on has that role and its privileges.
  await sql(`ALTER DATABASE ${name} SET role = '${role}'`);
  try {
    await withApp(url, async ({ send, observed }) => {
      const refusals = [
        ["read", await send("GET", "drafts")],
        ["read", await send("GET", "drafts/1")],
        ["read", await send("GET", "drafts/count")],
        ["create", await send("POST", "notes", { id: 3, title: "c" })],
        ["create", await send("POST", "notes/batch", { items: [{ id: 3, title: "c" }] })],
        ["update", await send("PATCH", "notes/1", { title: "no" })],
        ["delete", await send("DELETE", "notes/1")],
      ] as const;
      for (const [access, { status, body }] of refusals) {
        assertEquals([status, body.code], [403, "FORBIDDEN"]);
        assertEquals(body.detail, `Cannot ${access}: the database does not allow it`);
        assertEquals(Object.keys(body).includes("details"), false);
      }
      assertEquals((await send("PATCH", "notes/1", { title: "yes" })).status, 200);
      const notices = observed.filter(({ kind }) => kind === "notice");
      assert(JSON.stringify(notices).includes("permission denied for table drafts"));
    });
  } finally {
    await sql(`ALTER DATABASE ${name} RESET role; DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

test("a Postgres that cannot be reached at the start is a notice, and is served once it can be", async (url) => {
  let isThere = false;
  await using proxy = postgresProxy(url, () => Promise.resolve(isThere));
  await withApp(proxy.url, async ({ send, observed }) => {
    const said = observed.map((one) => one.kind === "notice" ? one.message : one.kind);
    assert(said[0]?.includes("cannot be reached now"), JSON.stringify(said));
    assertEquals((await send("GET", "notes")).status, 503);
    isThere = true;
    // On a busy machine, connecting may take longer than the wait limit of one request.
    const untilServed = async (method: string, path: string, body?: unknown) => {
      for (;;) {
        const answer = await send(method, path, body);
        if (answer.status !== 503) return answer;
      }
    };
    assertEquals((await untilServed("GET", "notes")).body.items.length, 2);
    assertEquals((await untilServed("POST", "notes", { id: 3, title: "c" })).status, 201);
  });
});

function test(
  promise: string,
  work: (url: string, admin: Database) => Promise<void>,
): void {
  testOnPostgres(promise, async (url) => {
    const admin = await openDatabase(url);
    try {
      await admin.createTables([notes, drafts]);
      await insertRows(admin, notes, [{ id: 1, title: "a" }, { id: 2, title: "a" }]);
      await work(url, admin);
    } finally {
      await admin.close();
    }
  });
}

interface Client {
  readonly observed: readonly Observation[];
  send(method: string, path: string, body?: unknown): Promise<Answer>;
}

async function withApp(url: string, work: (client: Client) => Promise<void>): Promise<void> {
  const observed: Observation[] = [];
  const observe = (one: Observation) => void observed.push(one);
  const db = await openDatabase(url, { waitLimitMs: 300, observe });
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    runtime: systemRuntime(observe),
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [
      resource(drafts, { id: drafts.id, auth: { public: { read: true } } }),
      resource(notes, { id: notes.id, auth: { ...open, public: { read: true } } }),
    ],
  });
  try {
    await work({
      observed,
      async send(method, path, body) {
        const response = await app.fetch(
          new Request(`http://test/api/${path}`, {
            method,
            ...(body === undefined ? {} : {
              headers: { "content-type": "application/json" },
              body: JSON.stringify(body),
            }),
          }),
        );
        const { status, headers } = response;
        const text = await response.text();
        return { status, headers, body: text === "" ? null : JSON.parse(text) };
      },
    });
  } finally {
    await app.close();
  }
}
