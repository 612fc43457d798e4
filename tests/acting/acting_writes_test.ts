/** With `actAs`, each kind of write obeys the policies for USING and WITH CHECK of its user. */
import { assertEquals } from "@std/assert";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { actingApp, type Answer, posts, profiles, todos } from "./acting_app.ts";
import { supabase, uid } from "./supabase.ts";

const status = (answers: readonly Answer[]) => answers.map(({ status }) => status);

testOnPostgres("each kind of write obeys the policies of its user", async (url) => {
  await using of = await supabase(url);
  await using acting = await actingApp(of);
  const { send } = acting;
  const own = { id: 1_001, teamId: 5, authorId: uid(5), title: "mine" };
  assertEquals(
    status([
      await send(5, "POST", "/posts", own),
      // WITH CHECK of INSERT.
      await send(5, "POST", "/posts", { ...own, id: 1_002, authorId: uid(6) }),
      await send(null, "POST", "/posts", { ...own, id: 1_003 }),
      await send(5, "PATCH", "/posts/1001", { title: "changed" }),
      // WITH CHECK of UPDATE: the row would be another's, or locked and published.
      await send(5, "PATCH", "/posts/1001", { authorId: uid(6) }),
      await send(5, "PATCH", "/posts/1001", { locked: true, published: true }),
      // User 12 is in the same team: the row may be read, but not changed.
      await send(12, "GET", "/posts/1001"),
      await send(12, "PATCH", "/posts/1001", { title: "stolen" }),
      await send(12, "PATCH", "/posts/1001", { title: "stolen" }, { "if-match": 'W/"2"' }),
      await send(12, "PUT", "/posts/1001", { ...own, title: "stolen" }),
      await send(12, "DELETE", "/posts/1001"),
      // To user 7 the row does not exist.
      await send(7, "PATCH", "/posts/1001", { title: "stolen" }),
      await send(7, "DELETE", "/posts/1001"),
    ]),
    [201, 403, 401, 200, 403, 403, 200, 403, 403, 403, 403, 404, 404],
  );
  assertEquals((await send(5, "GET", "/posts/1001")).body.title, "changed");
  assertEquals(
    status([
      await send(5, "PATCH", "/posts/1001", { locked: true }),
      // USING of DELETE.
      await send(5, "DELETE", "/posts/1001"),
      await send(5, "PATCH", "/posts/1001", { locked: false }),
      await send(5, "DELETE", "/posts/1001"),
    ]),
    [200, 403, 200, 204],
  );
});

testOnPostgres("batches, imports and nested writes obey the policies", async (url) => {
  await using of = await supabase(url);
  await using acting = await actingApp(of);
  const { send } = acting;
  const task = (n: number, user: number) => ({ task: `new task ${n}`, userId: uid(user) });
  const count = async (user: number) => (await send(user, "GET", "/todos/count")).body.count;
  assertEquals(await count(3), 20);
  assertEquals(
    status([
      await send(3, "POST", "/todos/batch", { items: [task(1, 3), task(2, 3)] }),
      await send(3, "POST", "/todos/batch", { items: [task(3, 3), task(4, 4)] }),
    ]),
    [201, 403],
  );
  assertEquals([await count(3), await count(4)], [22, 20]);
  const changed = await send(3, "PATCH", "/todos/batch", {
    filter: "id>0",
    patch: { isComplete: true },
  });
  assertEquals([changed.status, changed.body.count], [200, 22]);
  const foreign = (await send(4, "GET", "/todos?limit=2")).body.items;
  const replaced = await send(3, "PUT", "/todos/batch", { items: foreign });
  assertEquals(replaced.status, 404);
  const removed = await send(3, "DELETE", "/todos/batch", { filter: "task=like=new%" });
  assertEquals(removed.body, { count: 2 });
  assertEquals([await count(3), await count(4)], [20, 20]);
  const lines = (user: number) =>
    [1, 2].map((n) => JSON.stringify(task(n, user))).join("\n") + "\n";
  const upserted = async (items: readonly object[]) =>
    (await send(3, "POST", "/todos/batch/upsert", { items })).status;
  const [mine] = (await send(3, "GET", "/todos?limit=1")).body.items;
  assertEquals(
    [
      await upserted([{ ...mine, task: "upserted" }]),
      await upserted([{ ...foreign[0], task: "stolen" }]),
      // The row of another user is hidden, but its key is taken.
      await upserted([{ ...foreign[0], userId: uid(3) }]),
      await upserted([{ ...mine, userId: uid(4) }]),
    ],
    [200, 403, 409, 403],
  );
  const ndjson = { "content-type": "application/x-ndjson" };
  assertEquals(
    status([
      await send(3, "POST", "/todos/import", lines(3), ndjson),
      await send(3, "POST", "/todos/import", lines(4), ndjson),
    ]),
    [200, 403],
  );
  assertEquals([await count(3), await count(4)], [22, 20]);
  const nested = (author: number) => ({
    website: "https://example.org",
    posts: { create: [{ id: 2_000 + author, teamId: 1, title: "nested" }] },
  });
  assertEquals(
    status([
      await send(9, "PATCH", `/profiles/${uid(9)}`, nested(9)),
      await send(9, "PATCH", `/profiles/${uid(10)}`, nested(10)),
    ]),
    [200, 403],
  );
  assertEquals((await send(9, "GET", "/posts/2009")).status, 200);
  assertEquals((await send(9, "GET", `/profiles/${uid(10)}`)).body.website, null);
});

testOnPostgres("code, hooks and procedures have the rights of their caller", async (url) => {
  await using of = await supabase(url);
  const seen: Record<string, unknown> = {};
  await using acting = await actingApp(of);
  const mine = acting.app.as({ id: uid(3) });
  const { items } = await mine.of(todos).list({ limit: 100 });
  assertEquals(items.length, 20);
  const moved = await mine.transaction(async ({ api, db }) => {
    await api.of(todos).create({ task: "in a transaction" });
    const { rows } = await db.sql<{ n: number }>`SELECT count(*) AS n FROM ${todos}`;
    const refused = await api.of(posts).create({
      ...{ id: 3_000, teamId: 1, authorId: uid(4), title: "foreign" },
    }).catch((error) => error.status);
    const { rows: after } = await db.sql<{ role: string; n: number }>`
      SELECT CAST(current_user AS text) AS role, count(*) AS n FROM ${todos}`;
    return [rows[0]?.n, refused, after[0]?.role, after[0]?.n];
  });
  assertEquals(moved, [21, 403, of.authenticated, 21]);
  assertEquals(seen, {});
  assertEquals(await acting.app.as(null).of(profiles).count(), 20);
});
