/** With `actAs`, an answer holds what the policies of the database show to the user. */
import { assertEquals } from "@std/assert";
import postgres from "postgres";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { actingApp } from "./acting_app.ts";
import { claimsOf, supabase } from "./supabase.ts";

for (const [name, search] of [["", ""], [" through a pooler", "?prepare=false"]] as const) {
  testOnPostgres(
    `reads of many users${name} are those of their roles in psql`,
    (url) => compareReads(url, search),
  );
}

async function compareReads(adminUrl: string, search: string): Promise<void> {
  await using of = await supabase(adminUrl);
  await using acting = await actingApp(of, {}, { url: of.url + search });
  const sql = postgres(of.url, { max: 1, onnotice: () => {} });
  try {
    const asked = async (user: number | null, query: string) =>
      await sql.begin(async (tx) => {
        await tx.unsafe(`SET LOCAL ROLE "${user === null ? of.anon : of.authenticated}"`);
        if (user !== null) {
          await tx`SELECT set_config('request.jwt.claims', ${claimsOf(user)}, true)`;
        }
        return [...await tx.unsafe(query)];
      });
    let compared = 0;
    for (let user = 0; user <= 20; user++) {
      const caller = user === 0 ? null : user;
      for (const one of ["todos", "posts", "profiles"]) {
        const rows = await asked(
          caller,
          `SELECT id::text FROM ${one} ORDER BY ${one}.id LIMIT 101`,
        );
        const ids = rows.map(({ id }) => id);
        const list = await acting.send(caller, "GET", `/${one}?limit=100&totalCount=estimated`);
        assertEquals(list.status, 200, JSON.stringify(list.body));
        assertEquals(
          list.body.items.map(({ id }: { id: unknown }) => String(id)),
          ids.slice(0, 100),
        );
        const [{ count } = { count: 0 }] = await asked(caller, `SELECT count(*)::int FROM ${one}`);
        assertEquals(list.body.totalCount, count);
        assertEquals(list.body.totalCountEstimated, undefined);
        assertEquals((await acting.send(caller, "GET", `/${one}/count`)).body.count, count);
        compared += 3;
      }
      for (const id of [1, 4, 7, 100, 299].map((id) => id + user)) {
        const [found] = await asked(caller, `SELECT title FROM posts WHERE id = ${id}`);
        const { status, body } = await acting.send(caller, "GET", `/posts/${id}`);
        assertEquals(
          [status, body.title],
          found === undefined ? [404, "Not found"] : [200, found.title],
        );
        compared++;
      }
      const groups = await asked(
        caller,
        "SELECT team_id, count(*)::int FROM posts GROUP BY team_id ORDER BY team_id",
      );
      const { body } = await acting.send(
        caller,
        "GET",
        "/posts/aggregate?groupBy=teamId&count=true&orderBy=teamId",
      );
      assertEquals(
        body.groups,
        groups.map(({ team_id, count }) => ({ key: { teamId: team_id }, count })),
      );
      const withPosts = await acting.send(caller, "GET", "/profiles?include=posts&limit=50");
      const seen = withPosts.body.items.flatMap((one: { posts: { id: number }[] }) =>
        one.posts.map(({ id }) => id)
      ).sort((a: number, b: number) => a - b);
      assertEquals(
        seen,
        (await asked(caller, "SELECT id FROM posts ORDER BY id")).map(({ id }) => id),
      );
      const lines = await acting.send(caller, "GET", "/posts", undefined, { accept: "text/csv" });
      assertEquals(lines.body.trim().split("\n").length - 1, seen.length);
      compared += 3;
    }
    assertEquals(compared, 357);
  } finally {
    await sql.end();
  }
}
