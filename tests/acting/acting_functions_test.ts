/** With `actAs`, the columns that functions compute need the rights of the caller's role. */
import { assertEquals } from "@std/assert";
import postgres from "postgres";
import { byDatabase, openDatabase, resource } from "../../mod.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { actingApp } from "./acting_app.ts";
import { claimsOf, supabase } from "./supabase.ts";

testOnPostgres("computed columns are those of the caller's role in psql", async (adminUrl) => {
  await using of = await supabase(adminUrl);
  await of.admin(`
CREATE FUNCTION caption(posts) RETURNS text STABLE LANGUAGE sql AS
  $$SELECT $1.title || coalesce(right(auth.uid()::text, 2), '')$$;
CREATE FUNCTION colleagues(posts) RETURNS bigint STABLE LANGUAGE sql AS
  'SELECT count(*) FROM members m WHERE m.team_id = $1.team_id';
CREATE FUNCTION hush(posts) RETURNS text STABLE LANGUAGE sql AS $$SELECT 'hush ' || $1.title$$;
REVOKE EXECUTE ON FUNCTION hush(posts) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hush(posts) TO authenticated;
CREATE FUNCTION initials(profiles) RETURNS text STABLE LANGUAGE sql AS 'SELECT left($1.username, 1)';
REVOKE SELECT ON profiles FROM anon;
GRANT SELECT (id, username) ON profiles TO anon;
CREATE FUNCTION nobodys(posts) RETURNS text STABLE LANGUAGE sql AS 'SELECT $1.title';
REVOKE EXECUTE ON FUNCTION nobodys(posts) FROM PUBLIC`);
  const db = await openDatabase(of.url);
  const roles = [of.anon, of.authenticated];
  const { tables, leftOut } = await db.introspect({ roles, functions: ["*"] });
  // A function is no column if a role that reads the table lacks a right.
  const hidden = ["hush(posts)", "initials(profiles)", "nobodys(posts)"];
  assertEquals(
    leftOut.filter(({ table }) => hidden.includes(table)),
    hidden.map((table) => ({
      table,
      reason: `a role that reads ${table.slice(table.indexOf("(") + 1, -1)} may not call it, or ` +
        "may not read all columns",
    })),
  );
  const resources = tables.map((table) =>
    resource(table, {
      id: table.primaryKey.map(({ name }) => name),
      etag: {},
      auth: byDatabase({ anonymous: true }),
    })
  );
  await db.close();
  await using acting = await actingApp(of, { resources });
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
    for (const user of [3, 7, null]) {
      for (let round = 0; round < 6; round++) {
        const path =
          "/posts?select=caption,colleagues&orderBy=-colleagues,caption&limit=100&filter=caption=contains=1";
        const { status, body } = await acting.send(user, "GET", path);
        const rows = await asked(
          user,
          `SELECT caption(p), colleagues(p)::int FROM posts AS p
          WHERE caption(p) LIKE '%1%' ORDER BY colleagues(p) DESC, caption(p) COLLATE "C" LIMIT 100`,
        );
        assertEquals([status, body.items], [200, rows.map((row) => ({ ...row }))]);
      }
    }
    for (
      const [path, message] of [
        ["/posts?filter=hush!=null", "there is no field of this name to filter by"],
        ["/posts?orderBy=hush", "it is not a sortable field"],
        ["/posts/aggregate?groupBy=hush", "it is not a field for that"],
        ["/profiles?filter=initials==u", "there is no field of this name to filter by"],
      ] as const
    ) {
      const { status, body } = await acting.send(null, "GET", path);
      assertEquals([path, status, body.detail.includes(message)], [path, 400, true]);
    }
  } finally {
    await sql.end();
  }
});
