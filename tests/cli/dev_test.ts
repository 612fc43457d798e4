import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import { parseArguments } from "../../src/cli/arguments.ts";
import { runCommandLine } from "../../src/cli/command_line.ts";
import { addTables } from "../../src/cli/dev/add_tables.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { integer, openDatabase, resource, table, text } from "../../mod.ts";
import type { ColumnBuilders } from "../../src/schema/table.ts";
import { runChild, startChild } from "../serve/child_process.ts";
import { freePort } from "../support/ports.ts";
import { scratchFolder } from "../support/scratch.ts";

const cli = new URL("../../cli.ts", import.meta.url);

/** A new project at a free port. */
async function newProject() {
  const folder = await scratchFolder();
  const path = `${folder.path}/app`;
  const log = console.log;
  console.log = () => {};
  await runCommandLine(["init", path], { version: manifest.version, url: cli.href });
  console.log = log;
  const port = freePort();
  await edit(`${path}/.env`, "PORT=8000", `PORT=${port}`);
  const [dispose, api] = [() => folder[Symbol.asyncDispose](), `http://127.0.0.1:${port}/api`];
  return { path, api, port, [Symbol.asyncDispose]: dispose };
}

async function edit(path: string, from: string, to: string): Promise<void> {
  const text = await Deno.readTextFile(path);
  assertStringIncludes(text, from);
  await Deno.writeTextFile(path, text.replace(from, to));
}

const statusOf = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init);
  await response.body?.cancel();
  return response.status;
};

Deno.test("dev serves a new project, adds columns at a save, and says what is wrong with the others", async () => {
  await using project = await newProject();
  const { path, api } = project;
  await edit(`${path}/.env`, "SERVICE_SECRET=", "OTHER=");
  const args = ["@svc/resource-api/cli", "dev"];
  await using dev = startChild(args, { cwd: path, maxLifeMs: 40_000 });
  let starts = 0;
  const started = () => dev.printed(RegExp(`(?:serving service\\.config\\.ts[^]*){${++starts}}`));
  await started();
  assertMatch(dev.stdout(), /^Added a random SERVICE_SECRET to \.env/);
  assertMatch(await Deno.readTextFile(`${path}/.env`), /\nSERVICE_SECRET=\S{44}\n$/);
  assertMatch(dev.stdout(), /^Migrated: create lists\n[^]*Migrated: create tasks$/m);

  assertEquals(await statusOf(`${api}/lists`), 401);
  const signup = await fetch(`${api}/auth/signup`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: "ada@example.com", password: "a password of many words" }),
  });
  await signup.body?.cancel();
  const headers = { cookie: signup.headers.get("set-cookie")?.split(";")[0] ?? "" };
  assertEquals(await statusOf(`${api}/lists`, { headers }), 200);
  // A restart must not wait for an open stream.
  await using stream = await openStream(`${api}/lists/subscribe`, headers);

  const tables = `${path}/tables.ts`;
  await edit(tables, "  status: text(", "  notes: text(),\n  status: text(");
  await started();
  assertMatch(dev.stdout(), /^Migrated: tasks: add notes$/m);
  assertEquals(await statusOf(`${api}/tasks?select=notes`, { headers }), 200);
  assertMatch(await stream.ended, /^event: /m);

  await edit(tables, "  notes: text()", "  remarks: text()");
  await dev.logged(/Cannot serve "tasks": tasks\.remarks is missing/);
  assertMatch(
    dev.stdout(),
    /^Not migrated: tasks\.notes is not declared any more.*is it a rename/m,
  );
  assertMatch(dev.stdout(), /^To change the tables, run {2}.* migrate {2}and save a file$/m);
  await edit(tables, "  remarks: text()", "  notes: text()");
  const config = `${path}/service.config.ts`;
  await edit(config, "id: lists.id,", "id: lists.nope.key,");
  await dev.logged(/Cannot read properties of undefined.*\(service\.config\.ts:\d+:\d+\)\n/);
  await edit(config, "id: lists.nope.key,", "id: lists.id,");
  await started();
  assertEquals(await statusOf(`${api}/tasks?select=notes`, { headers }), 200);

  // A module that did not exist at the failed start was not noticed when it was created.
  await edit(config, "import", 'import "./limits.ts";\nimport');
  await dev.logged(/Module not found "limits\.ts"/);
  await Deno.writeTextFile(`${path}/limits.ts`, "export {};\n");
  await started();

  // A secret that is removed while dev runs is replaced by a new one.
  await edit(`${path}/.env`, "SERVICE_SECRET=", "GONE=");
  await dev.printed(/(?:^Added a random SERVICE_SECRET[^]*){2}/m);
  await started();
  assertMatch(await Deno.readTextFile(`${path}/.env`), /\nGONE=\S{44}\nSERVICE_SECRET=\S{44}\n$/);

  // A closed terminal sends SIGHUP.
  dev.signal("SIGHUP");
  assertEquals(await dev.ended(), 0, dev.stderr());
  assertEquals(await statusOf(api).catch((error) => error.constructor.name), "TypeError");
});

async function openStream(url: string, headers: HeadersInit) {
  const response = await fetch(url, { headers: { ...headers, accept: "text/event-stream" } });
  const ended = response.text().catch(() => "event: broken");
  return { ended, [Symbol.asyncDispose]: async () => void await ended };
}

Deno.test("dev refuses production, names a taken port, and ends with the process that started it", async () => {
  await using project = await newProject();
  const { path, port } = project;
  const args = ["@svc/resource-api/cli", "dev"];
  const production = { cwd: path, env: { SERVICE_ENV: "production" } };
  const refused = await runChild(args, production);
  assertEquals([refused.code, refused.stdout], [2, ""]);
  assertMatch(refused.stderr, /^Cannot run dev with SERVICE_ENV=production/);

  const listener = Deno.listen({ hostname: "127.0.0.1", port });
  await using dev = startChild(args, { cwd: path });
  await dev.logged(/the port is taken; stop the other program, or change PORT in \.env/);
  listener.close();
  await edit(`${path}/tables.ts`, "/**", "/** ");
  await dev.printed(/serving service\.config\.ts/);
  dev.signal("SIGKILL");
  await dev.ended();
  assert(dev.stdout().includes("all resources"));
});

testOnPostgres("dev did not create tables of Postgres with a foreign key", async (url) => {
  const db = await openDatabase(url);
  const authors = table("authors", { id: integer().primaryKey() });
  const books = (columns: ColumnBuilders) =>
    table("books", {
      id: integer().primaryKey(),
      authorId: integer().notNull().references(() => authors.id),
      ...columns,
    });
  const printed: string[] = [];
  const { log } = console;
  console.log = (text) => printed.push(text);
  const add = async (columns: ColumnBuilders) => {
    const of = books(columns);
    const resources = [resource(authors, { id: authors.id }), resource(of, { id: of.id })];
    await addTables({ db, resources }, systemRuntime(() => {}));
    return printed.pop()?.split(":", 1)[0];
  };
  try {
    assertEquals(await add({}), "Migrated");
    assertEquals(await add({ title: text({ minLength: 1, maxLength: 9 }) }), "Migrated");
    assertEquals(await add({ title: text({ minLength: 1, maxLength: 9 }) }), undefined);
    assertEquals(await add({ title: text({ maxLength: 9 }).notNull() }), "Not migrated");
    assertEquals(await add({ name: text() }), "Not migrated");
  } finally {
    console.log = log;
    await db.close();
  }
});

Deno.test("the arguments of dev name a configuration and a page", () => {
  const nothing = { kind: "dev", config: null, web: null };
  const cases: readonly [args: string, expected: object][] = [
    ["dev", nothing],
    ["dev -c a.ts --web page", { ...nothing, config: "a.ts", web: "page" }],
    ["dev a.ts", {
      kind: "misused",
      message: 'dev takes no "a.ts": name a file by --config',
    }],
  ];
  for (const [args, expected] of cases) assertEquals(parseArguments(args.split(" ")), expected);
});
