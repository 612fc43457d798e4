import { DatabaseSync } from "node:sqlite";
import { sign } from "@hono/hono/jwt";
import { assertEquals } from "@std/assert";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { starter, uid } from "../acting/supabase.ts";
import { root } from "../repository/module_graph.ts";
import { npmUnreachable } from "../support/npm_registry.ts";
import { runScript } from "../support/scratch.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { testUnless } from "../support/skip.ts";
import { filesOf, followGuide, stepsOf } from "./guide.ts";

Deno.test("the files, commands and answers of a guide are found", () => {
  const text =
    "`a.ts` has `b`. `a.ts`:\n\n```ts ignore\nx\n```\n\n```sh\ndo it \\\n  now\n# done\n```\n";
  assertEquals([...filesOf(text)], [["a.ts", "x\n"]]);
  assertEquals(stepsOf(text), [{ commands: ["do it \\", "  now"], answer: "done" }]);
});

testUnless(
  await npmUnreachable(),
  "docs/guides/from-pocketbase.md moves tables and accounts, and the passwords stay valid",
  () =>
    followGuide("from-pocketbase", {
      async prepare(folder) {
        await Deno.mkdir(`${folder}/pb_data`);
        const file = new DatabaseSync(`${folder}/pb_data/data.db`);
        file.exec(Deno.readTextFileSync(`${root}tests/fixtures/pocketbase.sql`));
        file.close();
      },
    }),
);

testOnPostgres(
  "docs/guides/existing-postgres.md serves a shop, first read-only and then with rights",
  (url) => followGuide("existing-postgres", { env: { DATABASE_URL: url } }),
);

testOnPostgres(
  "docs/guides/from-supabase.md serves the todos of a user, by policies and by scopes",
  async (url) => {
    const login = `login_${crypto.randomUUID().slice(0, 8)}`;
    const secret = "the secret that signs the tokens of the tests";
    const claims = {
      sub: uid(1),
      role: "authenticated",
      exp: Math.floor(Date.now() / 1_000) + 600,
    };
    const admin = await openPostgres(url);
    // The roles of Supabase have fixed names, which other databases of the server share.
    for (const role of ["anon", "authenticated"]) {
      const create = `CREATE ROLE ${role}; EXCEPTION WHEN duplicate_object OR unique_violation`;
      await admin.query({ text: `DO $$ BEGIN ${create} THEN NULL; END $$`, values: [] });
    }
    await runScript(
      admin,
      starter.replaceAll(/^(?:CREATE ROLE|GRANT anon).*\n/gm, "") + ";\nDELETE FROM todos",
    );
    const place = new URL(url);
    place.username = login;
    place.password = "a long password";
    try {
      await followGuide("from-supabase", {
        change: (text) => text.replaceAll("resource_api", login),
        env: {
          DATABASE_URL: url,
          LOGIN_URL: place.href,
          SUPABASE_JWT_SECRET: secret,
          TOKEN: await sign(claims, secret),
        },
      });
    } finally {
      await runScript(admin, `DROP OWNED BY ${login};\nDROP ROLE ${login}`);
      await admin.close();
    }
  },
);
