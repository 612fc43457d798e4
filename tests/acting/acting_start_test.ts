/** What the start checks of `actAs`, and what it says. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  type ActAsOptions,
  type AppConfig,
  byDatabase,
  createApp,
  integer,
  openDatabase,
  resource,
  table,
} from "../../mod.ts";
import { databaseSearch } from "../../src/engines/database_search.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { actingApp, actingConfig } from "./acting_app.ts";
import { supabase } from "./supabase.ts";

const secret = "a secret for the tests only";
const notes = table("notes", { id: integer().primaryKey() });
const auth = byDatabase();
const actAs: ActAsOptions = { roles: ["reader"], as: () => ({ role: "reader" }) };

/** Returns the message with which the start fails. */
async function failureOf(config: AppConfig): Promise<string> {
  return (await assertRejects(() => createApp(config), Error)).message;
}

Deno.test("actAs needs Postgres, and byDatabase needs actAs", async () => {
  const db = await openDatabase("sqlite::memory:");
  try {
    await db.createTables([notes]);
    const resources = [resource(notes, { id: notes.id, auth })];
    assertEquals(
      await failureOf({ db, secret, resources, actAs }),
      "Cannot start: actAs needs roles of Postgres, and :memory: (better-sqlite3) has none",
    );
    assertEquals(
      await failureOf({ db, secret, resources }),
      'Cannot serve "notes": auth is byDatabase(), which needs the option actAs',
    );
    assertEquals(
      await failureOf({ db, secret, resources, actAs: { ...actAs, roles: [] } }),
      "Cannot start: actAs.roles must be a list of at least one role, not a list",
    );
  } finally {
    await db.close();
  }
});

testOnPostgres("a role that policies would not restrict is an error", async (url) => {
  await using of = await supabase(url);
  const failure = async (change: string, undo: string, config: Partial<AppConfig> = {}) => {
    await of.admin(change);
    const { message } = await assertRejects(() => actingApp(of, config), Error);
    await of.admin(undo);
    return message.replaceAll(of.anon.slice("anon".length), "");
  };
  assertEquals(
    [
      await failure("REVOKE anon FROM authenticator", "GRANT anon TO authenticator"),
      await failure("ALTER ROLE anon SUPERUSER", "ALTER ROLE anon NOSUPERUSER"),
      await failure("ALTER ROLE anon BYPASSRLS", "ALTER ROLE anon NOBYPASSRLS"),
      await failure(
        "ALTER TABLE posts OWNER TO authenticated",
        "ALTER TABLE posts OWNER TO postgres",
      ),
      await failure("SELECT 1", "SELECT 1", {
        actAs: { roles: [of.anon, "no_such_role"], as: () => ({ role: of.anon }) },
      }),
      await failure("SELECT 1", "SELECT 1", { changes: { mode: "service" } }),
      await failure("ALTER TABLE posts RENAME TO gone", "ALTER TABLE gone RENAME TO posts"),
    ],
    [
      'Cannot act as "anon": the role "authenticator" is no member of it: GRANT anon TO authenticator',
      'Cannot act as "anon": it is a superuser, so no policy would restrict it',
      'Cannot act as "anon": it has BYPASSRLS, so no policy would restrict it',
      'Cannot act as "authenticated": it owns "posts", whose policies do not restrict it: ALTER TABLE ' +
      "posts FORCE ROW LEVEL SECURITY",
      'Cannot act as "no_such_role": there is no such role',
      'Cannot start: changes.mode is "service", whose log the roles of actAs would have to write: ' +
      'set it to "triggers"',
      'Cannot serve "posts": posts is missing: run `deno run -A cli.ts migrate`, or call db.migrate([posts])',
    ],
  );
  await of.admin(
    "ALTER TABLE posts OWNER TO authenticated;\n" +
      "ALTER TABLE posts FORCE ROW LEVEL SECURITY",
  );
  await using forced = await actingApp(of);
  assertEquals((await forced.send(null, "GET", "/posts/count")).body.count, 75);
});

const misdeclared = `CREATE FUNCTION me() RETURNS text LANGUAGE sql IMMUTABLE AS
  $$SELECT current_setting('app.me', true)$$;
CREATE FUNCTION is_me(name text) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT name = me()';
CREATE FUNCTION fixed() RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT 'timeless'::text$$;
CREATE POLICY timeless ON posts USING (title = fixed())`;

testOnPostgres("a policy that uses the role or a setting at planning is an error", async (url) => {
  await using of = await supabase(url);
  await of.admin(misdeclared);
  await (await actingApp(of))[Symbol.asyncDispose]();
  await of.admin("CREATE POLICY own ON posts USING (is_me(title))");
  const failure = async () => (await assertRejects(() => actingApp(of), Error)).message;
  assertEquals(
    await failure(),
    "Cannot start: the policy own on table posts can use values of another user: me() reads the " +
      "role or a setting but is IMMUTABLE: ALTER FUNCTION me() STABLE",
  );
  await of.admin("ALTER POLICY own ON posts USING (title = me())");
  assertStringIncludes(await failure(), "the policy own on table posts");
  await of.admin(`DROP POLICY own ON posts;
CREATE VIEW mine AS SELECT me();
ALTER TABLE posts ALTER title SET DEFAULT me()`);
  await using acting = await actingApp(of);
  assertEquals(
    acting.observations.flatMap((one) => one.kind === "notice" ? [one.message] : [])
      .filter((message) => message.includes("IMMUTABLE")).map((one) => one.split(" can ")[0]),
    ["the default value for column title of table posts", "the rule _RETURN on view mine"],
  );
  await of.admin("ALTER FUNCTION me() STABLE");
  await using right = await actingApp(of);
  assertEquals((await right.send(null, "GET", "/posts/count")).status, 200);
});

testOnPostgres("row_security = off is an error", async (url) => {
  await using of = await supabase(url);
  await of.admin("ALTER ROLE authenticator SET row_security = off");
  assertEquals(
    (await assertRejects(() => actingApp(of), Error)).message,
    "Cannot start: the setting row_security is off, so reads that policies would filter fail: " +
      `ALTER ROLE ${of.authenticator} SET row_security = on`,
  );
});

for (const path of ["app, public", 'pg_catalog, "$user", app', "missing, app, pg_catalog", "App"]) {
  testOnPostgres(`the search path ${path} leads to the tables of the roles`, async (url) => {
    await using of = await supabase(url);
    // The role that logs in may not use the schema.
    await of.admin(`CREATE SCHEMA app;
CREATE TABLE app.notes (id int PRIMARY KEY);
INSERT INTO app.notes VALUES (7);
GRANT USAGE ON SCHEMA app TO anon;
GRANT SELECT ON app.notes TO anon`);
    const to = `${of.url}?options=${
      encodeURIComponent(`-c search_path=${path.replaceAll(" ", "")}`)
    }`;
    const db = await openDatabase(to);
    const { tables } = await db.introspect({ roles: [of.anon] });
    await db.close();
    assertEquals(tables.map(({ label }) => label), ["notes"]);
    const resources = tables.map((one) =>
      resource(one, { id: ["id"], auth: byDatabase({ anonymous: true }) })
    );
    const actAs = { roles: [of.anon], as: () => ({ role: of.anon }) };
    await using acting = await actingApp(of, { resources, actAs }, { url: to });
    assertEquals((await acting.send(null, "GET", "/notes")).body.items, [{ id: 7 }]);
  });
}

testOnPostgres("a schema that is left out has the tables of the roles", async (url) => {
  await using of = await supabase(url);
  await of.admin(`CREATE SCHEMA app;
CREATE TABLE app.notes (id int PRIMARY KEY);
GRANT USAGE ON SCHEMA app TO anon, authenticator;
GRANT SELECT ON app.notes TO anon`);
  const db = await openDatabase(of.url);
  const { otherSchemas } = await db.introspect({ roles: [of.anon] });
  await db.close();
  assertEquals(otherSchemas.find(({ schema }) => schema === "app"), {
    ...{ schema: "app", tables: 1, isOpen: true },
  });
});

testOnPostgres("notices name what the operator may not intend", async (url) => {
  await using of = await supabase(url);
  await of.admin(`ALTER TABLE todos DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON posts FROM anon, authenticated;
CREATE TABLE hidden (id int PRIMARY KEY);
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
CREATE VIEW shown AS SELECT id FROM hidden;
GRANT SELECT ON shown TO anon`);
  const { resources } = actingConfig(of);
  const noticesOf = async (config: Partial<AppConfig>, options = {}) => {
    await using acting = await actingApp(of, config, options);
    return acting.observations.flatMap((one) => one.kind === "notice" ? [one.message] : [])
      .filter((message) => !message.includes("differs from the declared"))
      .map((message) => message.replaceAll(of.anon.slice("anon".length), ""));
  };
  const { tables } = await (async () => {
    const db = await openDatabase(url);
    try {
      return await db.introspect({ keys: { shown: ["id"] } });
    } finally {
      await db.close();
    }
  })();
  const view = tables.find(({ name }) => name === "shown");
  const withView = view === undefined ? [] : [resource(view, { id: ["id"], auth })];
  assertEquals(
    await noticesOf({ resources: [...resources, ...withView], search: databaseSearch() }),
    [
      '"todos": no row level security, so the grants alone decide',
      '"posts": no role of actAs may read it',
      "Live streams: none, because actAs does not serve them yet",
      "Search: none, because an index would hold words of all rows",
      'The row level security of "hidden" does not apply to the role "anon" in "shown", because a ' +
      "view has the rights of its owner, unless it is security_invoker",
    ],
  );
  const [power] = await noticesOf({}, { url });
  assertEquals(
    power,
    'the role "postgres" that logs in is a superuser: use a role with NOINHERIT and no rights of its ' +
      "own, like an authenticator",
  );
  await of.admin("GRANT SELECT ON profiles TO authenticator");
  assertStringIncludes((await noticesOf({}))[0] ?? "", 'that logs in may read "profiles": use');
});

testOnPostgres("an identity that actAs does not allow is a 500, and runs nothing", async (url) => {
  await using of = await supabase(url);
  const identities: Record<string, unknown> = {
    "another role": { role: "postgres" },
    "no role": {},
    "nothing": undefined,
    "a setting without a dot": { role: of.anon, settings: { row_security: "off" } },
    "a setting that is no string": { role: of.anon, settings: { "app.user": 7 } },
    "half of a surrogate pair": { role: of.anon, settings: { "app.user": "a\ud800" } },
    "NUL": { role: of.anon, settings: { "app.user": "a\0" } },
    "half of a pair in a name": { role: of.anon, settings: { "app.\udc00": "a" } },
    "half of a pair in JSON": { role: of.anon, settings: { "a.b": JSON.stringify(["\ud800"]) } },
    "NUL in JSON": { role: of.anon, settings: { "a.b": JSON.stringify(["\\\0"]) } },
    "names that differ by case": { role: of.anon, settings: { "app.User": "a", "app.user": "b" } },
  };
  let identity: unknown;
  await using acting = await actingApp(of, {
    actAs: {
      roles: [of.anon],
      as: () => {
        if (identity === "throws") throw new Error("broken");
        // The test passes what the types forbid.
        return identity as { role: string };
      },
    },
  });
  for (const [name, one] of Object.entries({ ...identities, "an error": "throws" })) {
    identity = one;
    const { status } = await acting.send(null, "GET", "/profiles");
    assertEquals([name, status], [name, 500]);
  }
  const whole = JSON.stringify(["🦊", "\\u0000", "\ufffd"]).replace("🦊", "\\ud83e\\udd8a");
  identity = { role: of.anon, settings: { "app.a": whole, "app.b": "\\\\u0000" } };
  assertEquals((await acting.send(null, "GET", "/profiles")).status, 200);
  identity = { role: of.anon };
  assertEquals((await acting.send(null, "GET", "/profiles")).status, 200);
  assertEquals((await acting.send(null, "GET", "/posts/subscribe")).status, 404);
  const { resources } = actingConfig(of);
  const [first] = resources;
  if (first === undefined) throw new Error("There is no resource");
  await using closed = await actingApp(of, {
    resources: [{ ...first, options: { ...first.options, auth } }],
  });
  assertEquals((await closed.send(null, "GET", "/profiles")).status, 401);
  assertEquals((await closed.send(3, "GET", "/profiles")).status, 200);
  assertEquals((await acting.send(null, "GET", "/posts/search?q=post")).status, 404);
});
