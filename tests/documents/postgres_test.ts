/** The blocks of the documents that need Postgres: commands, statements, requests and fragments. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import * as front from "../../mod.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { root } from "../repository/module_graph.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { startTlsPostgres, tlsPassword } from "../support/tls_postgres.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";
import { freePort } from "../support/ports.ts";
import { block, runFragment } from "./blocks.ts";
import { commandsOf, runCommand, runCommands } from "./commands.ts";

const { integer, table, text } = front;
const secret = "at least thirty-two characters long";

async function execute(url: string, script: string): Promise<void> {
  const driver = await openPostgres(url);
  await runScript(driver, script);
  await driver.close();
}

/** Sends the request of a `curl` command to a service. */
async function answerOf(command: string, url: string): Promise<unknown> {
  const script = `${command.replace("http://127.0.0.1:8000", url)} -sS`;
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

testOnPostgres("the documents' functions become columns and procedures", async (url) => {
  const column = block("docs/existing-databases.md", "CREATE FUNCTION full_name(people)");
  const short = block("docs/from_postgrest.md", "CREATE FUNCTION full_name(people)");
  assertStringIncludes(column, short);
  await execute(
    url,
    `CREATE TABLE people (id integer PRIMARY KEY, first_name text, last_name text);
INSERT INTO people VALUES (1, 'Ada', 'Lee'), (2, 'Bo', 'Leek');
CREATE TABLE films (id integer PRIMARY KEY, title text);
INSERT INTO films VALUES (1, 'Tea');
CREATE FUNCTION word_count(text) RETURNS integer IMMUTABLE
  LANGUAGE sql AS $$SELECT cardinality(regexp_split_to_array($1, '\\s+'))$$;
CREATE FUNCTION search_films(words text, "limit" integer) RETURNS SETOF films STABLE
  LANGUAGE sql AS $$SELECT * FROM films WHERE title ILIKE words LIMIT "limit"$$;
${column};`,
  );
  await using folder = await scratchFolder();
  const place = { "postgres://localhost/films": url };
  await runCommands(block("docs/from_postgrest.md", "deno run -A cli.ts --write --search"), {
    cwd: folder.path,
    replace: place,
    async onService(served) {
      const count = block(
        "docs/existing-databases.md",
        "curl 'http://127.0.0.1:8000/api/functions",
      );
      assertEquals(await answerOf(count, served), { data: 2 });
      const list = block("docs/existing-databases.md", "curl -g 'http://127.0.0.1:8000/api/people");
      const answer = await answerOf(list, served) as { items: { id: number }[] };
      assertEquals(answer.items, [
        { id: 2, full_name: "Bo Leek" },
        { id: 1, full_name: "Ada Lee" },
      ] as never);
    },
  });

  const db = await front.openDatabase(url);
  const films = (await db.introspect()).tables.find(({ name }) => name === "films");
  const fragment = block(
    "docs/existing-databases.md",
    "const { tables, functions } = await db.introspect(",
  )
    .replace("resource(films", "const served = resource(films");
  const scope = { ...front, db, films };
  const served = await runFragment(fragment.replace(/ \/\/ GET .*/, ""), scope, "served");
  const app = await front.createApp({ db, secret, resources: [served as never] });
  const [, path = ""] = /\/\/ GET (\S+)/.exec(fragment) ?? [];
  const answer = await app.fetch(new Request(`http://127.0.0.1${path}`));
  assertEquals((await answer.json()).data.items, [{ id: 1, title: "Tea" }]);
  await app.close();
  await db.close();
});

testOnPostgres(
  "README.md, docs/configuration/postgres.md: each form of a connection",
  async (url) => {
    await execute(url, "CREATE TABLE notes (id integer PRIMARY KEY, title text);");
    await using folder = await scratchFolder();
    const { hostname, port, username, pathname } = new URL(url);
    const statuses: number[] = [];
    const at = {
      cwd: folder.path,
      env: { PGSERVICEFILE: `${folder.path}/services.conf` },
      async onService(served: string) {
        const response = await fetch(`${served}/api/notes`);
        await response.body?.cancel();
        statuses.push(response.status);
      },
    };
    await Deno.writeTextFile(
      `${folder.path}/services.conf`,
      `[shop]\nhost=${hostname}\nport=${port}\nuser=${username}\ndbname=${pathname.slice(1)}\n`,
    );
    const [, , started = ""] = commandsOf(block("README.md", "npx -y deno@2.9.6 run -A cli.ts  "));
    await runCommand(started, { ...at, replace: { "postgres://…": url } });
    const forms = block(
      "docs/configuration/postgres.md",
      "deno run -A cli.ts 'postgres://app:p%40ss",
    );
    const [whole = "", words = "", service = ""] = commandsOf(forms);
    await using secured = await startTlsPostgres();
    const login = `tls_only:${encodeURIComponent(tlsPassword)}@127.0.0.1:${secured.port}/postgres`;
    await execute(
      `postgres://postgres@127.0.0.1:${secured.port}/postgres?sslmode=disable`,
      "CREATE TABLE notes (id integer PRIMARY KEY);\nGRANT SELECT ON notes TO tls_only;",
    );
    const replace = { "app:p%40ss@db.example/shop": login, "ca.pem": `${secured.folder}/ca.pem` };
    await runCommand(whole, { ...at, replace });
    const place = `host=${hostname} port=${port} user=${username} dbname=${pathname.slice(1)}`;
    await runCommand(words, { ...at, replace: { "host=db.example user=app dbname=shop": place } });
    await runCommand(service, at);
    const [pooled = ""] = commandsOf(
      block(
        "docs/configuration/postgres.md",
        "deno run -A cli.ts postgres://app@10.0.0.2/shop --pooler",
      ),
    );
    const both = {
      "postgres://app@10.0.0.2/shop": url,
      "postgres://app@10.0.0.4:6432/shop": url,
    };
    await runCommand(pooled, { ...at, replace: both });
    const [replicated = ""] = commandsOf(
      block(
        "docs/configuration/postgres.md",
        "deno run -A cli.ts postgres://app@10.0.0.2/shop --replica",
      ),
    );
    // A server that is no standby runs no reads, so the primary runs them.
    const one = { "postgres://app@10.0.0.2/shop": url, "postgres://app@10.0.0.3/shop": url };
    await runCommand(replicated, { ...at, replace: one });
    assertEquals(statuses, [200, 200, 200, 200, 200, 200]);

    const replaced = (program: string) =>
      program.replaceAll(/postgres:\/\/(?:app@[\d.,:]+\/\w+|…|authenticator:…@[^"]+)/g, url);
    for (
      const program of [
        block(
          "docs/configuration/postgres.md",
          'const db = await openDatabase({\n  primary: "postgres://app@10.0.0.2,',
        ),
        block(
          "docs/configuration/postgres.md",
          'const db = await openDatabase({\n  primary: "postgres://app@10.0.0.2/shop",\n  repl',
        ),
        block("docs/hosts.md", 'import { openDatabase } from "@svc/resource-api";'),
      ]
    ) {
      const db = await runFragment(replaced(program), front, "db") as front.Database;
      assertEquals((await db.introspect()).tables.length, 1);
      await db.close();
    }
    const db = await front.openDatabase(url);
    const kept = block(
      "docs/configuration/key-value-store.md",
      "const app = await createApp({ db, kv:",
    );
    const withSecret = replaced(kept).replace("{ db,", "{ db, secret,");
    const app = await runFragment(withSecret, { ...front, db, secret, resources: [] }, "app");
    await (app as front.App).close();
    await db.close();
    const store = block("docs/configuration/key-value-store.md", "import { openPostgresKeyValue }");
    const kv = await runFragment(store, { url }, "kv") as { close(): Promise<void> | void };
    await kv.close();
  },
);

testOnPostgres(
  "docs/configuration/service.md: a role of the database for each user",
  async (url) => {
    const suffix = crypto.randomUUID().slice(0, 8);
    const program = block("docs/configuration/service.md", "import {\n  byDatabase,")
      .replace("postgres://authenticator:…@127.0.0.1/app", url)
      .replaceAll(/"(anon|member)"/g, `"$1_${suffix}"`)
      .replace("createApp({", "createApp({ secret,");
    const roles = ["anon", "member"].map((name) => `${name}_${suffix}`);
    await execute(
      url,
      `CREATE TABLE notes (id uuid PRIMARY KEY, title text NOT NULL);
${roles.map((role) => `CREATE ROLE ${role};\nGRANT SELECT ON notes TO ${role};`).join("\n")}`,
    );
    try {
      const [app, db] = await runFragment(
        program.replace("db: await openDatabase", "db: database = await openDatabase"),
        { secret, database: null },
        "[app, database]",
      ) as [front.App, front.Database];
      const answer = await app.fetch(new Request("http://127.0.0.1/api/notes"));
      assertEquals([answer.status, (await answer.json()).items], [200, []]);
      await app.close();
      await db.close();
    } finally {
      await execute(url, `DROP OWNED BY ${roles};\nDROP ROLE ${roles};`);
    }
  },
);

testOnPostgres("docs/supabase.md: the command line acts as the roles of Supabase", async (url) => {
  await using folder = await scratchFolder();
  const [, command = ""] = commandsOf(block("docs/supabase.md", "export SUPABASE_URL="));
  for (const role of ["anon", "authenticated"]) {
    const create = `CREATE ROLE ${role}; EXCEPTION WHEN duplicate_object OR unique_violation`;
    await execute(url, `DO $$ BEGIN ${create} THEN NULL; END $$;`);
  }
  await execute(
    url,
    "CREATE TABLE notes (id integer PRIMARY KEY);\nGRANT SELECT ON notes TO anon;",
  );
  const statuses: number[] = [];
  await runCommand(command, {
    cwd: folder.path,
    env: { SUPABASE_URL: `http://127.0.0.1:${freePort()}` },
    replace: { "postgres://resource_api:…@HOST:5432/postgres": url },
    async onService(served) {
      const response = await fetch(`${served}/api/notes`);
      await response.body?.cancel();
      statuses.push(response.status);
    },
  });
  assertEquals(statuses, [200]);
});

testOnPostgres(
  "docs/migrations.md: tables, files and a file without a transaction",
  async (url) => {
    await using folder = await scratchFolder();
    const cwd = folder.path;
    const declare = (columns: string) =>
      `import { integer, openDatabase, resource, table, text } from "${root}mod.ts";
    export const notes = table("notes", { id: integer().primaryKey(), ${columns} });`;
    await Deno.writeTextFile(`${cwd}/schema.ts`, declare("title: text()"));
    await Deno.writeTextFile(
      `${cwd}/service.config.ts`,
      `${declare("title: text()")}
    export default {
      db: await openDatabase("node-sqlite:notes.db"),
      resources: [resource(notes, { id: notes.id })],
    };`,
    );
    await execute(url, "CREATE TABLE notes (id integer PRIMARY KEY, title text, size integer);");
    const commands = block("docs/migrations.md", "deno run -A cli.ts migrate\n");
    const yes = commandsOf(commands).map((command) => `${command} --yes`).join("\n");
    const outputs = await runCommands(yes, {
      cwd,
      replace: { "postgres://127.0.0.1/notes": url },
    });
    assertMatch(outputs[0] ?? "", /CREATE TABLE/);
    assertMatch(outputs[2] ?? "", /DROP COLUMN "?size/);

    await Deno.mkdir(`${cwd}/sql`);
    const create = "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);";
    await Deno.writeTextFile(`${cwd}/sql/0001_notes.sql`, create);
    await runCommands(block("docs/migrations.md", "deno run -A cli.ts migrate sqlite::memory:"), {
      cwd,
    });
    await Deno.mkdir(`${cwd}/concurrent`);
    const file = block("docs/migrations.md", "-- no transaction");
    await execute(url, "ALTER TABLE notes ADD COLUMN size integer;");
    await Deno.writeTextFile(`${cwd}/concurrent/0001_index.sql`, file);
    await runCommands(`deno run -A cli.ts migrate ${url} --migrations ./concurrent --yes`, { cwd });

    const notes = table("notes", {
      id: integer().primaryKey(),
      ledger: front.bigint(),
      size: text(),
    });
    await execute(url, "ALTER TABLE notes DROP COLUMN size, ADD COLUMN ledger text;");
    const db = await front.openDatabase(url);
    const message = await front.createApp({
      ...{ db, secret, resources: [front.resource(notes, { id: notes.id })] },
    }).then(() => "", ({ message }) => message);
    await db.close();
    const shown = block("docs/migrations.md", 'Cannot serve "notes": notes.size is missing');
    assertEquals(message, shown.replace(/\s*\n\s*/g, " "));
  },
);
