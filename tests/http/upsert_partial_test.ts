import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  all,
  boolean,
  createApp,
  eq,
  integer,
  isNull,
  resource,
  table,
  text,
  timestamp,
  unique,
} from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { parseIndexCondition } from "../../src/resource/write/upsert/index_condition.ts";
import { tableOf } from "../filter/support.ts";
import { testOnEngines, withService } from "../support/http.ts";
import { run } from "../support/scratch.ts";

Deno.test("the condition of a partial index is a filter, or is not offered", () => {
  const { columns } = tableOf({
    gone: "timestamp",
    status: "text",
    open: "boolean",
    "the n": "integer",
  });
  const filterOf = (sql: string) => parseIndexCondition(sql, columns)?.filter ?? null;
  const cases: readonly (readonly [sql: string, filter: string | null])[] = [
    ["(gone IS NULL)", "gone==null"],
    ["gone is not null", "gone!=null"],
    ["((status)::text = 'it''s a \"b'::text)", String.raw`status=="it's a \"b"`],
    ["status = 'null'", 'status=="null"'],
    ["(status = 'open'::character varying(20))", "status==open"],
    ['"status" COLLATE "C" = \'a b\'', 'status=="a b"'],
    ["status COLLATE NOCASE = 'open'", null],
    ["(status = ('open'::text COLLATE \"und-x-icu\"))", null],
    ['(("the n")::smallint = 1)', null],
    ["(\"the n\" > '-1'::integer)", '"the n">"-1"'],
    ["(lower((status)::text) = 'a'::text)", null],
    ["(open AND (NOT (gone IS NULL)))", null],
    ["(open AND (gone IS NULL))", "open==true;gone==null"],
    ["NOT open and open = 1 and open = false", "open==false;open==true;open==false"],
    ['((gone IS NULL) AND ("the n" >= (-3)))', '"the n">="-3";gone==null'],
    ["gone IS NULL OR open", null],
    ["lower(status) = 'a'", null],
    ["status = other", null],
    ["status = 'a' || 'b'", null],
    ["missing IS NULL", null],
    ["status = NULL", null],
    ["(status = ANY (ARRAY['a'::text, 'b'::text]))", null],
    ["gone IS NULL -- ; note", null],
    ["", null],
  ];
  for (const [sql, filter] of cases) {
    const found = filterOf(sql);
    const sorted = (text: string | null) => text?.split(";").toSorted().join(";") ?? null;
    assertEquals(sorted(found), sorted(filter), sql);
  }
});

const members = table("members", {
  id: integer().primaryKey(),
  email: text().notNull(),
  name: text(),
  open: boolean().notNull().default(true),
  owner: text().notNull().default("ada"),
  secret: text(),
  gone: timestamp(),
  kind: text().notNull().default("plain"),
}, (t) => [
  unique(t.email).where(eq(t.kind, "special")).as("special_members"),
  unique(t.email).where(isNull(t.gone)),
  unique(t.email, t.owner).where(eq(t.open, true)).as("open_members"),
  unique(t.name).where(isNull(t.secret)).as("secretly"),
]);
const ada = { "x-user": "ada" };

testOnEngines(
  "rows are upserted on a partial unique index",
  (engine) =>
    withService(engine, [members], () => ({
      resources: [resource(members, {
        id: members.id,
        auth: {
          public: { read: true },
          create: all,
          update: ({ id }) => eq(members.owner, id),
        },
        fields: { readable: ["id", "email", "name", "open", "owner", "gone", "kind"] },
      })],
    }), async ({ send, get, db, app }) => {
      const upsert = async (on: string, body: unknown) => {
        const path = `/api/members?on=${encodeURIComponent(on)}`;
        const { status, body: row } = await send("POST", path, body, ada);
        return status < 300 ? [status, row.id, row.name] : [status, row.detail];
      };
      const on = "email(gone==null)";
      assertEquals(await upsert(on, { email: "a", name: "1" }), [201, 1, "1"]);
      assertEquals(await upsert(on, { email: "a", name: "2" }), [200, 1, "2"]);
      assertEquals(await upsert("email( gone == null )", { email: "a", name: "3" }), [200, 1, "3"]);
      // Rows outside of the index have the same email, and are never found.
      const gone = "2026-01-01T00:00:00.000Z";
      await db.sql`UPDATE ${members} SET ${members.gone} = ${gone}, ${members.open} = ${false}`;
      assertEquals(await upsert(on, { email: "a", name: "4" }), [201, 2, "4"]);
      assertEquals(await upsert(on, { email: "a", name: "5" }), [200, 2, "5"]);
      const { items } = (await get("/api/members?select=id,name")).body;
      assertEquals(items, [{ id: 1, name: "3" }, { id: 2, name: "5" }]);

      const batch = await send("POST", `/api/members/batch/upsert?on=${on}`, {
        items: [{ email: "b", name: "6" }, { email: "a", name: "7" }],
      }, ada);
      assertEquals(
        batch.body.items.map(({ id, name }: { id: number; name: string }) => [id, name]),
        [
          [3, "6"],
          [2, "7"],
        ],
      );
      const pair = "owner,email(open==true)";
      assertEquals(await upsert(pair, { email: "b", owner: "ada", name: "8" }), [200, 3, "8"]);
      const code = app.as({ id: "ada" }).of("members");
      const { value } = await code.create({ email: "b", name: "9" }, { on });
      assertEquals([value.id, value.name], [3, "9"]);

      // A row outside of the index is another row, so it does not overwrite the one within.
      const [status, detail] = await upsert(on, { email: "a", gone, name: "lost" });
      assertEquals([status, detail], [
        422,
        'Cannot use this body: gone must match the condition in "on", as a row outside of it is new',
      ]);
      assertEquals((await upsert(pair, { email: "b", owner: "ada", open: false }))[0], 422);
      // The default of an omitted field is outside of the index: each repetition made another row.
      const special = "email(kind==special)";
      for (const path of [`?on=${special}`, `/batch/upsert?on=${special}`]) {
        const item = { email: "d", name: "new" };
        const body = path.startsWith("?") ? item : { items: [item] };
        const refused = await send("POST", `/api/members${path}`, body, ada);
        const at = path.startsWith("?") ? "" : "items.0 ";
        assertEquals([refused.status, refused.body.detail], [
          422,
          `Cannot use this body: ${at}must match the condition in "on": set kind`,
        ]);
      }
      assertEquals((await get("/api/members/count?filter=email==d")).body, { count: 0 });
      assertEquals(await upsert(on, { email: "a", gone: null, name: "8" }), [200, 2, "8"]);
      const mixed = await send("POST", `/api/members/batch/upsert?on=${on}`, {
        items: [{ email: "c" }, { email: "a", gone }],
      }, ada);
      assertEquals([mixed.status, mixed.body.details.errors[0].path], [422, "items.1.gone"]);

      // A row outside of the scope is refused, as with any other key.
      await db.sql`UPDATE ${members} SET ${members.owner} = ${"bob"} WHERE ${members.id} = ${3}`;
      assertEquals((await upsert(on, { email: "b", name: "x" }))[0], 403);

      // An index with a hidden column in its condition is no key, and a key needs its condition.
      const refused = String((await upsert("email", { email: "a" }))[1]);
      assertStringIncludes(
        refused,
        "use on=id or on=email(kind==special) or on=email(gone==null) or on=email,owner(open==true)",
      );
      assertEquals(refused.includes("secret"), false);
      assertEquals((await upsert("name(secret==null)", { name: "a", email: "a" }))[0], 400);
      assertEquals((await upsert("email(gone!=null)", { email: "a" }))[0], 400);
      assertEquals((await upsert("email(gone=)", { email: "a" }))[0], 400);
      const document = JSON.stringify(app.openapi());
      const names = ["id", special, on, "email,owner(open==true)"];
      assertStringIncludes(document, JSON.stringify(names));
    }),
);

testOnEngines("partial and joint unique indexes of an existing table are keys", async (engine) => {
  const db = await engine.open();
  await run(
    db,
    `CREATE TABLE "People" (id integer PRIMARY KEY, "eMail" varchar(40) NOT NULL, team text,
      nick text, status text NOT NULL DEFAULT 'on', gone text)`,
  );
  await run(db, `CREATE UNIQUE INDEX one ON "People" ("eMail") WHERE gone IS NULL`);
  await run(db, `CREATE UNIQUE INDEX two ON "People" (team, nick)`);
  await run(
    db,
    `CREATE UNIQUE INDEX three ON "People" (nick) WHERE status = 'on' AND team = 'a b'`,
  );
  await run(db, `CREATE UNIQUE INDEX four ON "People" (lower(nick)) WHERE status = 'off'`);
  await run(db, `INSERT INTO "People" VALUES (1, 'x', 'a b', 'n', 'on', NULL)`);
  const { tables } = await db.introspect();
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    runtime: systemRuntime(() => {}),
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: tables.map((table) =>
      resource(table, { id: ["id"], auth: { public: { read: true }, create: all, update: all } })
    ),
  });
  const upsert = async (on: string, body: unknown) => {
    const request = new Request(`http://test/api/People?on=${encodeURIComponent(on)}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const response = await app.fetch(request);
    const row = await response.json();
    return [response.status, row.id ?? null, ...(response.status === 409 ? [row.detail] : [])];
  };
  assertEquals(await upsert("eMail(gone==null)", { eMail: "x", team: "b" }), [200, 1]);
  assertEquals(await upsert("eMail(gone==null)", { id: 2, eMail: "y", team: "b" }), [201, 2]);
  assertEquals(await upsert("team,nick", { team: "b", nick: "n", eMail: "x" }), [200, 1]);
  assertEquals(
    await upsert('nick(status==on;team=="a b")', { id: 3, nick: "n", team: "a b", eMail: "z" }),
    [201, 3],
  );
  assertEquals(await upsert("nick(status==on)", { id: 4, nick: "n", eMail: "u" }), [400, null]);
  await app.close();
  await db.close();
});
