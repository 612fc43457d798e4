import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { type App, createApp } from "../../src/app/app.ts";
import { decideCliRights } from "../../src/cli/cli_service.ts";
import type { RecordingOptions } from "../../src/cli/database/decide_recording.ts";
import { serveDatabase } from "../../src/cli/database/serve_database.ts";
import { uninstall } from "../../src/cli/uninstall/run_uninstall_command.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";
import type { Database } from "../../src/db/database.ts";

interface Started {
  readonly app: App;
  readonly streams: string | undefined;
  readonly notices: readonly string[];
  /** What a stream of the table begins with. */
  readonly subscribe: () => Promise<number>;
}

/** Serves a database as the command line does. */
async function start(
  place: string,
  recording: RecordingOptions | null,
  isSearched = false,
): Promise<Started> {
  const notices: string[] = [];
  const runtime = systemRuntime((observation) => {
    if (observation.kind === "notice") notices.push(observation.message);
  });
  const facts = { host: "127.0.0.1", public: false, writable: recording !== null };
  const { config, streams } = await serveDatabase(place, {
    ...{ rights: decideCliRights(facts, "t_token"), runtime, recording, isSearched, schemas: null },
    ...{ kv: undefined, accountsIn: undefined },
  });
  const app = await createApp({ ...config, secret: "a secret for the tests only" });
  const subscribe = async () => {
    const { status, body } = await app.fetch(
      new Request("http://localhost/api/notes/subscribe", {
        headers: { authorization: "Bearer t_token" },
      }),
    );
    await body?.cancel();
    return status;
  };
  return { app, streams, notices, subscribe };
}

const own = { triggers: false, schema: null };
const all = { triggers: true, schema: null };

function makeFile(path: string, mode: string): void {
  const file = new DatabaseSync(path);
  file.exec(`PRAGMA journal_mode = ${mode};
    CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
    CREATE TABLE links (a INTEGER, b INTEGER, PRIMARY KEY (a, b));
    INSERT INTO notes (title) VALUES ('tea')`);
  file.close();
}

function schemaOf(path: string): unknown[] {
  const file = new DatabaseSync(path, { readOnly: true });
  const found = ["SELECT * FROM sqlite_schema ORDER BY name", "PRAGMA journal_mode"]
    .flatMap((text) => file.prepare(text).all());
  file.close();
  return found.map((row) => {
    const { rootpage: _place, ...rest } = row;
    return rest;
  });
}

Deno.test("without --write a SQLite file and its folder stay as they are", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/notes.db`;
  for (const mode of ["DELETE", "WAL"]) {
    makeFile(path, mode);
    const before = await Deno.readFile(path);
    const { app, notices } = await start(path, null);
    assertEquals((await app.fetch(new Request("http://localhost/api/notes"))).status, 200);
    await app.close();
    assertEquals(await Deno.readFile(path), before);
    assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["notes.db"], mode);
    assertEquals(notices.filter((message) => message.includes("writing changes")), []);
    await Deno.remove(path);
  }
});

Deno.test("--write says what it adds to a SQLite file, and uninstall takes it away", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/notes.db`;
  makeFile(path, "DELETE");
  const before = schemaOf(path);
  for (
    const [wishes, said] of [
      [
        own,
        "Live streams show what this service writes, and begin again after what other " +
        "programs write; with --triggers they show that, too",
      ],
      [
        all,
        "Live streams show every change of these tables, whichever program makes it: " +
        "triggers record it",
      ],
    ] as const
  ) {
    const first = await start(`node-sqlite:${path}`, wishes, true);
    assertStringIncludes(
      first.notices[0] ?? "",
      "itself: it is put into WAL mode; tables named _service_* are to be added, for the changes " +
        "that live streams show; tables named service_fts_* are to be added, for the search. " +
        `"deno run -A cli.ts uninstall node-sqlite:${path}" takes it away again`,
    );
    assertEquals([first.streams, await first.subscribe()], [said, 200]);
    const refused = `Cannot uninstall from ${path}: another program has it open, stop that first`;
    await assertRejects(() => uninstall(path, () => {}), Error, refused);
    await first.app.close();
    const second = await start(path, wishes);
    assertEquals(second.notices.filter((message) => message.includes("itself")), []);
    await second.app.close();

    const lines: string[] = [];
    await uninstall(path, (line) => lines.push(line));
    assertEquals(lines[0], `Taking away from ${path}:`);
    assert(lines.includes("  table service_fts_notes"));
    assertEquals(
      lines.at(-1),
      `Removed ${wishes.triggers ? "18 triggers, " : ""}5 tables; the journal mode is delete`,
    );
    assertEquals(schemaOf(path), before);
    const file = new DatabaseSync(path);
    assertEquals(file.prepare("PRAGMA integrity_check").all(), [{ integrity_check: "ok" }]);
    file.close();
    assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["notes.db"]);
    lines.length = 0;
    await uninstall(path, (line) => lines.push(line));
    assertEquals(lines, [`Nothing of the service is in ${path}`]);
  }
});

testOnPostgres("--write serves without what the role may not do, and says it", async (url) => {
  const owner = await openDatabase(`${url}?application_name=owner`);
  const role = `role_${crypto.randomUUID().replaceAll("-", "")}`;
  const weak = new URL(url);
  weak.username = role;
  try {
    await runScript(
      owner.driver,
      `CREATE TABLE notes (id integer PRIMARY KEY, title text);
       REVOKE CREATE ON SCHEMA public FROM public;
       CREATE ROLE ${role} LOGIN;
       GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO ${role};
       CREATE SCHEMA "the log" AUTHORIZATION ${role}`,
    );
    const readOnly = await start(url, null);
    assertEquals((await readOnly.app.fetch(new Request("http://localhost/api/notes"))).status, 200);
    await readOnly.app.close();
    assertEquals(await ownParts(owner), []);
    const none = await start(weak.href, own, true);
    assertEquals(
      none.streams,
      `Live streams: none. A log of changes needs tables, and the role "${role}" may create none ` +
        `in the schema "public": GRANT CREATE ON SCHEMA "public" TO "${role}", or name a schema ` +
        "where it may by --changes-schema; without the log nothing else is missing",
    );
    assertEquals(await none.subscribe(), 404);
    assert(!none.notices.join().includes("to be added"));
    assertStringIncludes(none.notices.join(), "is kept in memory");
    const created = await none.app.fetch(
      new Request("http://localhost/api/notes", {
        method: "POST",
        headers: { authorization: "Bearer t_token", "content-type": "application/json" },
        body: '{"id":1}',
      }),
    );
    assertEquals([created.status, await created.text()], [201, '{"id":1,"title":null}']);
    await none.app.close();

    const logged = await start(weak.href, { triggers: true, schema: "the log" });
    assertEquals(
      logged.streams,
      "Live streams show what this service writes, and not what other programs write. Only the " +
        `owner of a table may have triggers on it that always run, and the role "${role}" does ` +
        'not own "notes": so changes are recorded as by changes: { mode: "service" }',
    );
    assertEquals(await logged.subscribe(), 200);
    await assertRejects(() => uninstall(url, () => {}), Error, "sessions of a service");
    await logged.app.close();
    await assertRejects(() => start(weak.href, { triggers: false, schema: "no" }), Error, '"no"');

    const full = await start(url, all);
    assertStringIncludes(full.notices.join(), "tables and functions named _service_* are to be");
    assertStringIncludes(full.streams ?? "", "every change");
    await full.app.close();
    const lines: string[] = [];
    await uninstall(url, (line) => lines.push(line));
    assertEquals(lines.at(-1), "Removed 2 triggers, 4 functions, 6 tables");
    assertEquals(await ownParts(owner), []);
    await uninstall(url, (line) => lines.push(line));
    assertStringIncludes(lines.at(-1) ?? "", "Nothing of the service is in");
  } finally {
    await runScript(
      owner.driver,
      `DROP OWNED BY ${role};
       DROP ROLE ${role}`,
    );
    await owner.close();
  }
});

/** The names of what a service has added to a Postgres database without triggers of its own. */
async function ownParts({ driver }: Database): Promise<unknown> {
  const { rows } = await driver.query({
    text: `SELECT relname FROM pg_class WHERE relname LIKE '%service%'
      UNION SELECT proname FROM pg_proc WHERE proname LIKE '%service%'
      UNION SELECT tgname FROM pg_trigger`,
    values: [],
  });
  return rows;
}
