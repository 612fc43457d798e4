/** With `actAs`, what the service does for itself has the rights of the role that logs in. */
import { assert, assertEquals } from "@std/assert";
import { byDatabase, openDatabase, procedure, resource } from "../../mod.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { type ActingApp, actingApp, actingConfig, posts, todos } from "./acting_app.ts";
import { type Supabase, supabase, uid } from "./supabase.ts";

const auth = byDatabase({ anonymous: true });

/** Lets the role that logs in create and use the tables of the service. */
async function withServiceTables(of: Supabase): Promise<void> {
  await of.admin(`CREATE SCHEMA service;
ALTER ROLE authenticator SET search_path = service, public;
GRANT USAGE, CREATE ON SCHEMA service TO authenticator`);
}

testOnPostgres("a stored response is replayed, and users have no right to it", async (url) => {
  await using of = await supabase(url);
  await withServiceTables(of);
  await using acting = await actingApp(of, { idempotency: { storage: "db" } });
  const key = { "idempotency-key": "0123456789abcdef0123" };
  const create = (user: number, task: string) => acting.send(user, "POST", "/todos", { task }, key);
  const first = await create(3, "only one");
  assertEquals(first.status, 201, JSON.stringify(first.body));
  const again = await create(3, "only one");
  assertEquals([again.status, again.body, again.headers.get("idempotency-replayed")], [
    ...[201, first.body, "true"],
  ]);
  assertEquals((await create(4, "only one")).body.userId, uid(4));
  assertEquals((await acting.send(3, "GET", "/todos/count")).body.count, 21);
  const refused = await acting.send(
    3,
    "POST",
    "/todos",
    { task: "foreign", userId: uid(4) },
    { "idempotency-key": "0123456789abcdef0124" },
  );
  assertEquals(refused.status, 403);
  const admin = await openDatabase(url);
  try {
    const { rows } = await admin.query({
      text: `SELECT count(*), bool_or(has_table_privilege('${of.authenticated}', c.oid, 'SELECT'))
        FROM pg_class c WHERE relname = '_service_idempotency'`,
      values: [],
    });
    assertEquals(rows, [["1", "f"]]);
  } finally {
    await admin.close();
  }
});

testOnPostgres("a call of the system in a user's transaction has its own rights", async (url) => {
  await using of = await supabase(url);
  await of.admin(
    "GRANT SELECT, INSERT, UPDATE ON todos, posts TO authenticator;\n" +
      "CREATE POLICY service ON todos TO authenticator USING (true);\n" +
      "CREATE POLICY service ON posts TO authenticator USING (true)",
  );
  const roles: unknown[] = [];
  const config = actingConfig(of);
  const [first, , third] = config.resources;
  assert(first !== undefined && third !== undefined);
  await using acting = await actingApp(of, {
    // The metrics wrap the driver.
    observability: true,
    resources: [
      first,
      third,
      resource(todos, {
        id: todos.id,
        auth,
        hooks: {
          async onAfterCreate({ api, db }) {
            const role = async () =>
              (await db.sql<{ role: string }>`SELECT CAST(current_user AS text) AS role`).rows[0]
                ?.role;
            roles.push(await role());
            roles.push(await api.asSystem().of(todos).count(), await api.of(todos).count());
            // A failed call of the system leaves the transaction and its role as they were.
            const failure = await api.asSystem().of(posts).create({
              ...{ id: 1, teamId: 1, authorId: uid(1), title: "taken" },
            }).catch((error) => error.status);
            roles.push(failure, await role(), await api.of(todos).count());
          },
        },
        procedures: {
          who: procedure({
            input: {
              "~standard": {
                version: 1,
                vendor: "test",
                validate: (value: unknown) => ({ value }),
              },
            },
            output: {
              "~standard": {
                version: 1,
                vendor: "test",
                validate: (value: unknown) => ({ value }),
              },
            },
            async handler({ db, api }) {
              const { rows } = await db.sql<{ n: number }>`SELECT count(*) AS n FROM ${todos}`;
              return [
                rows[0]?.n,
                await api.of(todos).count(),
                await api.asSystem().of(todos).count(),
              ];
            },
          }),
        },
      }),
    ],
  });
  const created = await acting.send(3, "POST", "/todos", { task: "with a hook" });
  assertEquals(created.status, 201, JSON.stringify(created.body));
  assertEquals(roles, [of.authenticated, 401, 21, 409, of.authenticated, 21]);
  const who = await acting.send(3, "POST", "/todos/rpc/who", {});
  assertEquals(who.body.data, [21, 21, 401]);
  assertEquals(await acting.app.asSystem().of(todos).count(), 401);
  const all = await acting.app.as({ id: uid(3) }).transaction(async ({ api }) => [
    await api.of(todos).count(),
    await api.asSystem().transaction(({ api }) => api.of(todos).count()),
    await api.of(todos).count(),
  ]);
  assertEquals(all, [21, 401, 21]);
});

testOnPostgres("a role that may not write a counter follows given keys", async (url) => {
  await using of = await supabase(url);
  await of.admin(
    "GRANT SELECT, UPDATE ON SEQUENCE todos_id_seq TO authenticator;\n" +
      "GRANT SELECT ON todos TO authenticator;\n" +
      "CREATE POLICY service ON todos FOR SELECT TO authenticator USING (true)",
  );
  await using acting = await actingApp(of);
  assertEquals((await acting.send(3, "POST", "/todos", { id: "401", task: "given" })).status, 201);
  const next = await acting.send(3, "POST", "/todos", { task: "counted" });
  assertEquals([next.status, next.body.id], [201, "402"]);
});

testOnPostgres("actAs.system stands for the role that logs in", async (url) => {
  await using of = await supabase(url);
  const suffix = of.anon.slice("anon".length);
  await of.admin(`CREATE ROLE service${suffix} BYPASSRLS;
GRANT service${suffix} TO authenticator;
GRANT SELECT, INSERT ON todos, profiles, posts TO service${suffix}`);
  try {
    const config = actingConfig(of);
    assert(config.actAs !== undefined);
    await using acting = await actingApp(of, {
      actAs: { ...config.actAs, system: `service${suffix}` },
    });
    assertEquals(await acting.app.asSystem().of(todos).count(), 400);
    assertEquals(await acting.app.asSystem().transaction(({ api }) => api.of(todos).count()), 400);
    const counts = await acting.app.as({ id: uid(3) }).transaction(async ({ api }) => [
      await api.asSystem().of(todos).count(),
      await api.of(todos).count(),
    ]);
    assertEquals(counts, [400, 20]);
    assertEquals((await acting.send(3, "GET", "/todos/count")).body.count, 20);
  } finally {
    await of.admin(`DROP OWNED BY service${suffix};\nDROP ROLE service${suffix}`);
  }
});

async function statusOf(acting: ActingApp, path: string): Promise<number> {
  return (await acting.send(3, "GET", path)).status;
}

testOnPostgres("a lost role is a 503, and a policy that fails is a 500", async (url) => {
  await using of = await supabase(url);
  await using acting = await actingApp(of);
  assertEquals(await statusOf(acting, "/todos"), 200);
  await of.admin("REVOKE authenticated FROM authenticator");
  assertEquals([await statusOf(acting, "/todos"), await statusOf(acting, "/todos/1")], [503, 503]);
  assertEquals((await acting.send(3, "POST", "/todos", { task: "no role" })).status, 503);
  const failed = acting.observations.filter(({ kind }) => kind === "request_failed");
  assertEquals(failed.length, 3);
  assert(Deno.inspect(failed[0], { depth: 9 }).includes("Cannot act as the role"));
  await of.admin(
    "GRANT authenticated TO authenticator;\n" +
      "CREATE POLICY broken ON todos AS RESTRICTIVE USING (1 / (id - id) = 1)",
  );
  assertEquals([await statusOf(acting, "/todos"), await statusOf(acting, "/todos/2")], [500, 500]);
  await of.admin(`DROP POLICY broken ON todos;
CREATE FUNCTION refuse() RETURNS boolean LANGUAGE plpgsql AS
  'BEGIN RAISE EXCEPTION ''no''; END';
CREATE POLICY broken ON todos AS RESTRICTIVE USING (refuse())`);
  assertEquals([await statusOf(acting, "/todos"), await statusOf(acting, "/todos/2")], [500, 500]);
  // The role may not look at all columns to find out if the table was altered.
  await of.admin(
    "REVOKE SELECT ON todos FROM authenticated;\n" +
      "GRANT SELECT (id, user_id, task) ON todos TO authenticated",
  );
  await using narrow = await actingApp(of);
  assertEquals([await statusOf(narrow, "/todos"), await statusOf(narrow, "/todos/2")], [500, 500]);
});

testOnPostgres("a role reads and writes the columns of its grants", async (url) => {
  await using of = await supabase(url);
  await of.admin(`REVOKE ALL ON todos FROM authenticated;
GRANT SELECT (id, user_id, task), INSERT (user_id, task), UPDATE (task, is_complete), DELETE
  ON todos TO authenticated`);
  await using acting = await actingApp(of);
  const { send } = acting;
  const list = await send(3, "GET", "/todos?limit=1");
  assertEquals(Object.keys(list.body.items[0]), ["id", "userId", "task"]);
  const [{ id }] = list.body.items;
  const got = await send(3, "GET", `/todos/${id}`);
  assertEquals([got.status, Object.keys(got.body)], [200, ["id", "userId", "task"]]);
  assertEquals((await send(3, "GET", "/todos?filter=isComplete==true")).status, 400);
  const created = await send(3, "POST", "/todos", { task: "columns", userId: uid(3) });
  assertEquals([created.status, created.body.task], [201, "columns"], JSON.stringify(created.body));
  const changed = await send(3, "PATCH", `/todos/${id}`, { task: "changed", isComplete: true });
  assertEquals([changed.status, Object.keys(changed.body)], [200, ["id", "userId", "task"]]);
  const tag = got.headers.get("etag") ?? "";
  assertEquals(
    (await send(3, "DELETE", `/todos/${id}`, undefined, { "if-match": tag })).status,
    412,
  );
  const now = (await send(3, "GET", `/todos/${id}`)).headers.get("etag") ?? "";
  assertEquals(
    (await send(3, "DELETE", `/todos/${id}`, undefined, { "if-match": now })).status,
    204,
  );
});

testOnPostgres("a role may delete rows that it may not update", async (url) => {
  await using of = await supabase(url);
  await of.admin(`REVOKE UPDATE ON todos FROM authenticated;
DROP POLICY "Individuals can update their own todos." ON todos`);
  await using acting = await actingApp(of);
  const [{ id }, ...others] = (await acting.send(3, "GET", "/todos?limit=3")).body.items;
  const tag = (await acting.send(3, "GET", `/todos/${id}`)).headers.get("etag") ?? "";
  const removed = [
    await acting.send(3, "DELETE", `/todos/${id}`, undefined, { "if-match": tag }),
    await acting.send(3, "DELETE", `/todos/${others[0].id}`),
    await acting.send(3, "DELETE", "/todos/batch", { filter: `id==${others[1].id}` }),
    await acting.send(4, "DELETE", `/todos/${others[1].id}`),
  ];
  assertEquals(removed.map(({ status }) => status), [204, 204, 200, 404]);
  assertEquals((await acting.send(3, "GET", "/todos/count")).body.count, 17);
});

testOnPostgres("a policy of a role that users lose applies a second later", async (url) => {
  await using of = await supabase(url);
  const suffix = of.anon.slice("anon".length);
  await of.admin(`CREATE ROLE editors${suffix};
GRANT editors${suffix} TO authenticated;
CREATE POLICY editors ON posts TO editors${suffix} USING (true)`);
  try {
    let passedMs = 0;
    const clock = { ...systemClock, elapsedMs: () => passedMs + systemClock.elapsedMs() };
    const driver = await openPostgres(of.url, { clock });
    await using acting = await actingApp(of, {}, { driver });
    const count = async () => (await acting.send(3, "GET", "/posts/count")).body.count;
    for (let n = 0; n < 5; n++) assertEquals(await count(), 300);
    await of.admin(`REVOKE editors${suffix} FROM authenticated`);
    passedMs = 1_000;
    for (let n = 0; n < 5; n++) assert(await count() < 200);
  } finally {
    await of.admin(`DROP POLICY editors ON posts;\nDROP ROLE editors${suffix}`);
  }
});
