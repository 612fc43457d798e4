import { assert, assertEquals } from "@std/assert";
import { all, eq, integer, resource, table, text, timestamp } from "../../mod.ts";
import { createTableInfo } from "../../src/schema/table_info.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import type { Engine } from "../support/engines.ts";
import {
  type Answer,
  insertRows,
  type Service,
  testOnDialects,
  testOnEngines,
  withService,
} from "../support/http.ts";

const people = table("people", {
  id: integer().primaryKey(),
  email: text().unique(),
  team: text().notNull().default("a"),
  slug: text().notNull(),
  name: text(),
  token: text().unique(),
  owner: text().notNull().default("ada"),
  version: integer().notNull().default(1),
  gone: timestamp(),
});
const ada = { "x-user": "ada" };
const path = "/api/people";
const upsertPath = `${path}/batch/upsert`;

/** The people of the tests: ada's p1, bob's p2, and p3, which is marked deleted. */
function withPeople(
  engine: Engine,
  work: (service: Service, calls: unknown[]) => Promise<void>,
): Promise<void> {
  const calls: unknown[] = [];
  const info = tableInfoOf(people);
  const { name, schema, columns, own, foreignKeys } = info;
  const uniques = [["team", "slug"]];
  const pairs = createTableInfo({ name, schema, columns, own, foreignKeys, uniques });
  const mine = (user: { readonly id: string }) => eq(people.owner, user.id);
  return withService(engine, [people], () => ({
    resources: [resource(pairs, {
      id: people.id,
      auth: { public: { read: true }, create: mine, update: mine },
      fields: {
        readable: info.columns.filter(({ name }) => name !== "token" && name !== "gone")
          .map(({ name }) => name),
        immutable: ["email", "team"],
      },
      strictInput: true,
      etag: { versionField: "version" },
      softDelete: { field: "gone" },
      generatedFields: ["owner"],
      hooks: {
        onBeforeCreate: (_context, data) => void calls.push(["create", { ...data }]),
        onBeforeUpdate: (_context, id, patch) => void calls.push(["update", id, { ...patch }]),
      },
    })],
  }), async (service) => {
    const { db } = service;
    await db.sql`CREATE UNIQUE INDEX team_slug ON ${people} (${people.team}, ${people.slug})`;
    const gone = "2026-01-01T00:00:00.000Z";
    await insertRows(db, people, [
      { email: "p1", team: "a", slug: "s1", token: "t1", owner: "ada", version: 1 },
      { email: "p2", team: "a", slug: "s2", token: "t2", owner: "bob", version: 1 },
      { email: "p3", team: "b", slug: "s1", owner: "ada", version: 1, gone },
    ]);
    await work(service, calls);
  });
}

const refusal = ({ status, body }: Answer) => [status, body.detail, body.details ?? null];

testOnEngines(
  "a batch is upserted on a unique column, or on several",
  (engine) =>
    withPeople(engine, async ({ app, send, get }, calls) => {
      const upsert = async (on: string, items: unknown) => {
        calls.length = 0;
        return await send("POST", `${upsertPath}?on=${on}`, { items }, ada);
      };
      const byEmail = await upsert("email", [
        { email: "p4", slug: "s4", name: "new" },
        { email: "p1", slug: "s1", name: "changed" },
      ]);
      assertEquals([byEmail.status, byEmail.body.items.map(named)], [200, [
        [4, "p4", "a", "s4", "new", 1],
        [1, "p1", "a", "s1", "changed", 1],
      ]]);
      // The hook of a change has what changes, that of a creation the whole row.
      assertEquals(calls, [
        ["update", 1, { slug: "s1", name: "changed" }],
        ["create", { email: "p4", slug: "s4", name: "new" }],
      ]);
      const byPair = await upsert("slug,team", [
        { team: "a", slug: "s1", name: "again" },
        { team: "b", slug: "s2", name: "other team" },
      ]);
      assertEquals(byPair.body.items.map(named), [
        [1, "p1", "a", "s1", "again", 1],
        [5, null, "b", "s2", "other team", 1],
      ]);
      const byKey = await upsert("id", [{ id: 1, slug: "s1", name: "by key" }]);
      assertEquals(byKey.body.items.map(named), [[1, "p1", "a", "s1", "by key", 1]]);
      const code = app.as({ id: "ada" }).of("people");
      const byCode = await code.batch.upsert([{ email: "p1", slug: "s1" }], { on: "email" });
      assertEquals(byCode.map(named), [[1, "p1", "a", "s1", "by key", 1]]);
      const again = { team: "a", slug: "s1", name: "by code" };
      const { value } = await code.create(again, { on: ["team", "slug"] });
      assertEquals(named(value), [1, "p1", "a", "s1", "by code", 2]);
      assertEquals((await get(`${path}/count`)).body.count, 4);

      // What an item must hold, and what it may not.
      const cases:
        readonly (readonly [on: string, items: unknown, path: string, message: string])[] = [
          ["email", [{ slug: "x" }], "items.0.email", "is required"],
          ["email", [{ email: null, slug: "x" }], "items.0.email", "must not be null"],
          ["team,slug", [{ team: "a" }], "items.0.slug", "is required"],
          [
            "email",
            [{ email: "x", slug: "x" }, { email: "x", slug: "y" }],
            "items.1",
            "names the same row as items.0",
          ],
          [
            "email",
            [{ email: "p1", id: 2, slug: "s1" }],
            "items.0.id",
            "is not that of the row which the item names",
          ],
          ["email", [{ email: "p1", team: "b", slug: "s1" }], "items.0.team", "cannot be changed"],
          [
            "team,slug",
            [{ team: "a", slug: "s1", email: "p9" }],
            "items.0.email",
            "cannot be changed",
          ],
        ];
      for (const [on, items, path, message] of cases) {
        const { status, body } = await upsert(on, items);
        assertEquals([status, body.details.errors], [422, [{ path, message }]]);
      }

      // Another row has the other key: as for POST.
      const taken = await upsert("email", [{ email: "p8", team: "a", slug: "s1" }]);
      assertEquals([taken.status, taken.body.code], [409, "CONFLICT"]);
      // Rows outside the scope are as forbidden as for an upsert by key, whatever the item says of them.
      for (const item of [{ slug: "x" }, { slug: "x", id: 2 }, { slug: "x", id: 7 }]) {
        const { status, body } = await upsert("email", [{ email: "p2", ...item }]);
        assertEquals([status, body.detail], [
          403,
          "Cannot update: the row lies outside your scope",
        ]);
      }
      const marked = await upsert("email", [{ email: "p3", slug: "s1" }]);
      assertEquals([marked.status, marked.body.code], [409, "CONFLICT"]);
    }),
);

const named = (row: Readonly<Record<string, unknown>>) =>
  ["id", "email", "team", "slug", "name", "version"].map((name) => row[name]);

testOnEngines(
  "POST with a unique key changes a row or creates it",
  (engine) =>
    withPeople(engine, async ({ send, get }) => {
      const post = (on: string, body: unknown, headers: Record<string, string> = {}) =>
        send("POST", `${path}?on=${on}`, body, { ...ada, ...headers });
      const created = await post("email", { email: "p4", slug: "s4" });
      assertEquals([created.status, created.headers.get("location")], [201, `${path}/4`]);
      assertEquals(created.headers.get("etag"), 'W/"1"');
      const changed = await post("email", { email: "p4", slug: "s4", name: "n" });
      assertEquals([changed.status, changed.headers.get("location")], [200, null]);
      // As a PATCH would.
      assertEquals([named(changed.body), changed.headers.get("etag")], [
        [4, "p4", "a", "s4", "n", 2],
        'W/"2"',
      ]);
      const late = await post("email", { email: "p4", slug: "s4" }, { "if-match": 'W/"1"' });
      assertEquals([late.status, late.body.details.currentETag], [412, 'W/"2"']);
      const absent = await post("email", { email: "p5", slug: "s5" }, { "if-match": 'W/"1"' });
      assertEquals([absent.status, absent.body.details.currentETag], [412, null]);
      assertEquals(refusal(await post("email", { slug: "s4" })), [
        422,
        "Cannot use this body: email is required",
        { errors: [{ path: "email", message: "is required" }] },
      ]);
      assertEquals((await post("email", { email: "p2", slug: "s4" })).status, 403);
      assertEquals((await get(`${path}/count`)).body.count, 3);
      const anonymous = await send("POST", `${path}?on=email`, { email: "p6", slug: "s6" });
      assertEquals(anonymous.status, 401);
    }),
);

testOnEngines(
  "only a unique key that the client may use is one to upsert on",
  (engine) =>
    withPeople(engine, async ({ send }) => {
      const elsewhere = await send("GET", `${path}?on=email`, undefined, ada);
      assertEquals([elsewhere.status, elsewhere.body.code], [400, "INVALID_PARAMETER"]);
      const advice = "it is no unique key; use on=id or on=email or on=team,slug";
      for (const on of ["token", "slug", "name", "nothing", "team", "email,team", ""]) {
        const answers = [
          await send("POST", `${upsertPath}?on=${on}`, { items: [{ email: "x", slug: "x" }] }, ada),
          await send("POST", `${path}?on=${on}`, { email: "x", slug: "x" }, ada),
        ];
        for (const answer of answers) {
          const detail = `Cannot upsert on ${JSON.stringify(on)}: ${advice}`;
          assertEquals(refusal(answer), [400, detail, null]);
        }
      }
      const twice = await send("POST", `${path}?on=email&on=id`, { email: "x", slug: "x" }, ada);
      assertEquals(twice.status, 400);
    }),
);

testOnEngines(
  "upserts at once of one new key make one row",
  (engine) =>
    withPeople(engine, async ({ send, db }) => {
      // Of two, the one that comes second finds the row of the first.
      for (const email of ["r1", "r2", "r3", "r4"]) {
        const bodies = [{ email, slug: email, name: "x" }, { email, slug: email, name: "y" }];
        const pair = await Promise.all(
          bodies.map((body) => send("POST", `${path}?on=email`, body, ada)),
        );
        assertEquals(pair.map(({ status }) => status).sort(), [200, 201]);
      }
      const names = Array.from({ length: 8 }, (_, index) => `n${index}`);
      const answers = await Promise.all(names.flatMap((name) => [
        send("POST", `${path}?on=email`, { email: "race", slug: "race", name }, ada),
        send("POST", `${upsertPath}?on=email`, {
          items: [{ email: "race", slug: "race", name }, { email: name, slug: name }],
        }, ada),
      ]));
      const statuses = answers.map(({ status }) => status);
      assertEquals(statuses.filter((status) => ![200, 201, 409].includes(status)), []);
      assert(statuses.filter((status) => status === 201).length <= 1, "one creates it");
      const { rows } = await db.sql`
      SELECT ${people.email}, count(*) AS n FROM ${people} WHERE ${people.email} IN ${[
        "race",
        ...names,
      ]} GROUP BY ${people.email} HAVING count(*) > 1`;
      assertEquals(rows, []);
      assert(statuses.filter((status) => status < 300).length > 4, String(statuses));
    }),
);

testOnDialects("a key of fields that a user may not use is none for this user", (engine) => {
  const { id, email, slug, name } = people;
  const isAda = (user: { readonly id: string } | null) => user?.id === "ada";
  const resources = [resource(people, {
    id,
    auth: { read: () => all(), create: () => all(), update: () => all() },
    fields: {
      readable: (user) => isAda(user) ? [id, email, slug, name] : [id, slug, name],
      writable: (user) => isAda(user) ? [email, slug, name] : [email, slug],
    },
  })];
  return withService(engine, [people], () => ({ resources }), async ({ send }) => {
    const upsert = async (user: string, slug: string) => {
      const body = { email: "p1", slug };
      return await send("POST", `${path}?on=email`, body, { "x-user": user });
    };
    assertEquals((await upsert("ada", "s1")).status, 201);
    assertEquals((await upsert("ada", "s2")).status, 200);
    assertEquals(refusal(await upsert("bob", "s3")), [
      400,
      'Cannot upsert on "email": it is no unique key; use on=id',
      null,
    ]);
  });
});
