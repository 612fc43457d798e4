import { assertEquals } from "@std/assert";
import {
  all,
  type App,
  type AppConfig,
  createApp,
  type Database,
  integer,
  resource,
  rsql,
  table,
  text,
} from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { type Engine, engines } from "../support/engines.ts";
import { run, runScript } from "../support/scratch.ts";

interface Client {
  readonly db: Database;
  /** The status of the answer to a request of ada. */
  send(method: string, path: string, body?: unknown): Promise<number>;
  /** The rows of a table, by their first column. */
  rows(name: string): Promise<readonly (readonly unknown[])[]>;
}

const ada: AppConfig["auth"] = {
  middleware: async (context, next) => {
    context.set("user", { id: "ada" });
    await next();
  },
};

const owned = {
  read: all,
  create: (user: { readonly id: string } | null) => rsql`owner==${user?.id}`,
  update: (user: { readonly id: string } | null) => rsql`owner==${user?.id}`,
};

/** Serves all tables of the script; each user may write their own rows and delete none. */
async function withTables(
  engine: Engine,
  script: string,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  let app: App | null = null;
  try {
    await runScript(db.driver, script);
    const { tables } = await db.introspect();
    app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: systemRuntime(() => {}),
      auth: ada,
      resources: tables.map((one) =>
        resource(one, {
          id: one.primaryKey.map(({ name }) => name),
          auth: one.byName.has("owner") ? owned : { read: all, create: all, update: all },
          capabilities: { enableImport: true },
        })
      ),
    });
    await work(clientOf(app, db));
  } finally {
    await app?.close();
    await db.close();
  }
}

function clientOf({ fetch }: Pick<App, "fetch">, db: Database): Client {
  return {
    db,
    async send(method, path, body) {
      const isText = typeof body === "string";
      const type = isText ? "application/x-ndjson" : "application/json";
      const answer = await fetch(
        new Request(`http://test/api${path}`, {
          method,
          headers: { "content-type": type },
          body: body === undefined ? null : isText ? body : JSON.stringify(body),
        }),
      );
      await answer.text();
      return answer.status;
    },
    rows: async (name) => (await run(db, `SELECT * FROM "${name}" ORDER BY 1`)).rows,
  };
}

/** Over each driver of SQLite: no other engine has such clauses. */
function testOnSqlite(name: string, work: (engine: Engine) => Promise<void>): void {
  for (const engine of engines.filter(({ name }) => name.includes("sqlite"))) {
    Deno.test(`${engine.name} ${name}`, () => work(engine));
  }
}

const before = [[1, "bob", "bob@x"], [2, "ada", "ada@x"]];
const inserted = "INSERT INTO acc VALUES (1, 'bob', 'bob@x'), (2, 'ada', 'ada@x');";
const taken = { owner: "ada", email: "bob@x" };

/** Each would violate the unique column. */
const writes: readonly (readonly [method: string, path: string, body: unknown])[] = [
  ["POST", "/acc", taken],
  ["POST", "/acc?on=id", { id: 3, ...taken }],
  ["PATCH", "/acc/2", { email: "bob@x" }],
  ["PUT", "/acc/2", taken],
  ["POST", "/acc/batch", { items: [{ owner: "ada", email: "new@x" }, taken] }],
  ["POST", "/acc/batch/upsert", { items: [{ id: 2, ...taken }] }],
  ["POST", "/acc/batch/upsert", { items: [{ id: 3, ...taken }] }],
  ["PUT", "/acc/batch", { items: [{ id: 2, ...taken }] }],
  ["PATCH", "/acc/batch", { filter: "id==2", patch: { email: "bob@x" } }],
];

for (const resolution of ["REPLACE", "IGNORE", "FAIL", "ROLLBACK"]) {
  testOnSqlite(
    `a write that violates UNIQUE ON CONFLICT ${resolution} is 409 and changes nothing`,
    (
      engine,
    ) =>
      withTables(
        engine,
        `CREATE TABLE acc (id INTEGER PRIMARY KEY, owner TEXT,
         email TEXT UNIQUE ON CONFLICT ${resolution});
       ${inserted}`,
        async ({ send, rows }) => {
          for (const [method, path, body] of writes) {
            assertEquals([method, path, await send(method, path, body)], [method, path, 409]);
            assertEquals([path, await rows("acc")], [path, before]);
          }
          const lines = `{"owner":"ada","email":"new@x"}\n${JSON.stringify(taken)}\n`;
          assertEquals(await send("POST", "/acc/import", lines), 422);
          assertEquals(await rows("acc"), before);
          // What violates nothing is written as ever.
          assertEquals(await send("POST", "/acc", { owner: "ada", email: "new@x" }), 201);
          assertEquals(await send("PATCH", "/acc/2", { email: "newer@x" }), 200);
          assertEquals((await rows("acc")).length, 3);
        },
      ),
  );
}

const keys: readonly (readonly [what: string, definition: string])[] = [
  ["a key", "(id INTEGER PRIMARY KEY ON CONFLICT REPLACE, owner TEXT, email TEXT)"],
  ["a key of the table", "(id INT, owner TEXT, email TEXT, PRIMARY KEY (id) ON CONFLICT REPLACE)"],
  [
    "a set of columns",
    "(id INTEGER PRIMARY KEY, owner TEXT, email TEXT, UNIQUE (email) on /* no */ conflict replace)",
  ],
  [
    "a key without row ids",
    "(id INT NOT NULL, owner TEXT, email TEXT, PRIMARY KEY (id) ON CONFLICT REPLACE) WITHOUT ROWID",
  ],
];

for (const [what, definition] of keys) {
  testOnSqlite(`a create does not replace the row of another by ${what}`, (engine) =>
    withTables(
      engine,
      `CREATE TABLE Acc ${definition};
       ${inserted}`,
      async ({ send, rows }) => {
        const row = definition.includes("(email)") ? { id: 3, ...taken } : { ...taken, id: 1 };
        assertEquals(await send("POST", "/Acc", row), 409);
        assertEquals(await send("POST", "/Acc/batch", { items: [row] }), 409);
        assertEquals(await rows("Acc"), before);
      },
    ));
}

const acc = table("acc", { id: integer().primaryKey(), owner: text(), email: text().unique() });
const labels = table("labels", { id: integer().primaryKey() });
const teams = table("teams", { id: integer().primaryKey(), name: text() });
const members = table("members", {
  id: integer().primaryKey(),
  teamId: integer().as("team_id"),
  nick: text().unique(),
});
const links = table("links", {
  teamId: integer().primaryKey().as("team_id"),
  labelId: integer().primaryKey().as("label_id"),
});

testOnSqlite("a declared table, nested rows and links keep the rows of others as well", async (
  engine,
) => {
  const db = await engine.open();
  await runScript(
    db.driver,
    `CREATE TABLE ACC (id INTEGER PRIMARY KEY, owner TEXT, email TEXT UNIQUE ON CONFLICT REPLACE);
     ${inserted}
     CREATE TABLE labels (id INTEGER PRIMARY KEY);
     CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT);
     CREATE TABLE members (id INTEGER PRIMARY KEY, team_id INTEGER,
       nick TEXT UNIQUE ON CONFLICT REPLACE);
     CREATE TABLE links (team_id INTEGER NOT NULL, label_id INTEGER NOT NULL,
       PRIMARY KEY (team_id, label_id), UNIQUE (label_id) ON CONFLICT REPLACE);
     INSERT INTO labels VALUES (7);
     INSERT INTO teams VALUES (1, 'a'), (2, 'b');
     INSERT INTO members VALUES (1, 1, 'bob');
     INSERT INTO links VALUES (1, 7);`,
  );
  const auth = { read: all, create: all, update: all };
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    runtime: systemRuntime(() => {}),
    auth: ada,
    resources: [
      resource(acc, { id: acc.id, auth }),
      resource(labels, { id: labels.id, auth }),
      resource(members, { id: members.id, auth }),
      resource(teams, {
        ...{ id: teams.id, auth, nestedWrites: true },
        relations: {
          members: { type: "hasMany", resource: members, foreignKey: members.teamId },
          labels: {
            ...{ type: "manyToMany", resource: labels, through: links },
            ...{ foreignKey: links.teamId, references: links.labelId },
          },
        },
      }),
    ],
  });
  const { send, rows } = clientOf(app, db);
  assertEquals(await send("POST", "/acc", taken), 409);
  assertEquals(await rows("acc"), before);
  const bob = [{ nick: "bob" }];
  assertEquals(await send("POST", "/teams", { name: "c", members: bob }), 409);
  assertEquals(await send("PATCH", "/teams/2", { members: { create: bob } }), 409);
  assertEquals(await rows("members"), [[1, 1, "bob"]]);
  assertEquals(await send("POST", "/teams", { name: "c", labels: [{ id: 7 }] }), 409);
  assertEquals(await send("PATCH", "/teams/2", { labels: { connect: [7] } }), 409);
  assertEquals(await rows("links"), [[1, 7]]);
  assertEquals(await rows("teams"), [[1, "a"], [2, "b"]]);
  await app.close();
});

testOnSqlite("OR IGNORE and OR REPLACE in triggers of other tables work as they are written", (
  engine,
) =>
  withTables(
    engine,
    `CREATE TABLE notes (id INTEGER PRIMARY KEY, tag TEXT, "on conflict replace" TEXT);
     CREATE TABLE tags (tag TEXT PRIMARY KEY, uses INTEGER);
     CREATE TABLE latest (tag TEXT PRIMARY KEY ON CONFLICT REPLACE, note INTEGER);
     CREATE TRIGGER tagged AFTER INSERT ON notes BEGIN
       INSERT OR IGNORE INTO tags VALUES (NEW.tag, 0); INSERT INTO latest VALUES (NEW.tag, NEW.id); END;
     CREATE TRIGGER retagged AFTER UPDATE ON notes BEGIN
       INSERT OR REPLACE INTO tags VALUES (NEW.tag, 1); END;`,
    async ({ send, rows }) => {
      assertEquals(await send("POST", "/notes", { id: 1, tag: "a" }), 201);
      assertEquals(await send("POST", "/notes", { id: 2, tag: "a" }), 201);
      assertEquals(await rows("tags"), [["a", 0]]);
      assertEquals(await rows("latest"), [["a", 2]]);
      assertEquals(await send("PATCH", "/notes/2", { tag: "a" }), 200);
      assertEquals(await rows("tags"), [["a", 1]]);
    },
  ));
