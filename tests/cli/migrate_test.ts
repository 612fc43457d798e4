import { DatabaseSync } from "node:sqlite";
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { parseArguments } from "../../src/cli/arguments.ts";
import { urlOfDatabaseToMigrate } from "../../src/cli/database/resolve_database_url.ts";
import type { MigrateCommand } from "../../src/cli/migrate/migrate_arguments.ts";
import { migrateDatabase, openMigrated } from "../../src/cli/migrate/run_migrate_command.ts";
import { pathExists } from "../../src/cli/path_exists.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { scratchFolder } from "../support/scratch.ts";

const packageFront = new URL("../../mod.ts", import.meta.url).href;

const first = `import { integer, table, text } from ${JSON.stringify(packageFront)};
export const teams = table("teams", { id: integer().primaryKey() });
const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  team: integer().references(() => teams.id),
});
export const all = [teams, notes];
export const column = notes.title;
`;

const second = first.replace("title: text().notNull()", "headline: text()")
  .replace("notes.title", "notes.headline");

function commandOf(...args: readonly string[]): MigrateCommand {
  const command = parseArguments(["migrate", ...args]);
  if (command.kind !== "migrate") throw new Error(JSON.stringify(command));
  return command;
}

Deno.test("migrate takes a database, tables and what may be lost", () => {
  assertEquals(commandOf("--db", "a.db", "--tables", "b.ts", "--dry-run", "-y"), {
    ...{ kind: "migrate", database: "a.db", tables: "b.ts", config: null, migrations: null },
    ...{ baseline: false, dryRun: true, yes: true, json: false, allowDrop: [], keep: [] },
    ...{ resume: false, down: null, write: null, check: false },
  });
  const named = commandOf("a.db", "--allow-drop", "a.b,a.c", "--allow-drop", "d", "--keep", "e.f");
  assertEquals([named.allowDrop, named.keep], [["a.b", "a.c", "d"], ["e.f"]]);
  const wrong = [
    [["a", "b"], "migrate takes one database"],
    [["a", "--db", "b"], "migrate takes one database"],
    [["a", "--baseline"], "belongs to the files of a folder"],
    [["a", "--write", "b"], "--write belongs to the files of a folder"],
    [
      ["a", "--migrations", "b", "--down", "0"],
      '--down takes the number of files to undo, not "0"',
    ],
    [["a", "--migrations", "b", "--write", "c.sql"], "--write takes a name of letters"],
    [["a", "--check", "--resume"], "--resume and --check exclude each other"],
    [["--alow-drop", "b"], "did you mean --allow-drop?"],
  ] as const;
  for (const [args, message] of wrong) {
    const command = parseArguments(["migrate", ...args]);
    assertMatch(command.kind === "misused" ? command.message : "", new RegExp(message));
  }
});

Deno.test("a dry run over a missing file opens an empty database, whatever the file is called", async () => {
  for (const place of ["s", "sqlite", "node-sqlite:e", "pglite:e"]) {
    const scheme = /^[a-z-]+:/.exec(place)?.[0] ?? "sqlite:";
    assertEquals(await urlOfDatabaseToMigrate(place, true), `${scheme}:memory:`);
  }
});

Deno.test("what only reads a SQLite file does not change its journal mode", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/a.db`;
  await Deno.writeTextFile(`${folder.path}/tables.ts`, first);
  await Deno.mkdir(`${folder.path}/sql`);
  {
    using db = new DatabaseSync(path);
    db.exec("CREATE TABLE other (id INTEGER PRIMARY KEY)");
  }
  const before = await Deno.readFile(path);
  const tables = ["--tables", `${folder.path}/tables.ts`];
  const files = ["--migrations", `${folder.path}/sql`];
  for (
    const args of [
      ...[[...tables, "--dry-run"], [...tables, "--check"], [...files, "--dry-run"]],
      [...tables, ...files, "--write", "plan"],
    ]
  ) {
    const command = commandOf(path, ...args);
    const opened = await openMigrated(command);
    const done = migrateDatabase(command, opened, { print: () => {}, ask: null });
    if (args.includes("--check")) await assertRejects(() => done, Error, "differs");
    await done.catch(() => {});
    await opened.db.close();
    assertEquals(await Deno.readFile(path), before, args.join(" "));
  }
  const written = Deno.readDirSync(`${folder.path}/sql`);
  assertEquals([...written].map(({ name }) => name), ["0001_plan.sql"]);
});

Deno.test("migrate shows the statements, asks, and asks about renames", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/notes.db`;
  const run = async (tables: string, answers: readonly boolean[], ...args: readonly string[]) => {
    const file = `${folder}/${tables.length}_${answers.length}_${args.length}.ts`;
    await Deno.writeTextFile(file, tables);
    const printed: string[] = [];
    const left = [...answers];
    const ask = (question: string) => {
      printed.push(question);
      return left.shift() === true;
    };
    const command = commandOf(path, "--tables", file, ...args);
    const opened = await openMigrated(command);
    try {
      await migrateDatabase(command, opened, {
        print: (line) => printed.push(line),
        ask: answers.length === 0 ? null : ask,
      });
    } catch (error) {
      printed.push(String(error));
    } finally {
      await opened.db.close();
    }
    return printed.join("\n");
  };
  try {
    assertMatch(await run(first, [], "--dry-run"), /-- create notes\nCREATE TABLE[^]*\);$/);
    assertEquals(await pathExists(path), false);
    assertMatch(await run(first, []), /without a terminal: add --yes$/);
    assertMatch(await run(first, [false]), /Run 3 statements\?\nError: Nothing was changed\.$/);
    assertMatch(await run(first, [], "--yes"), /Done\.$/);
    assertMatch(await run(first, [], "--yes"), /is as its tables are declared\.$/);
    const db = await openDatabase(`sqlite:${path}`);
    await db.query({ text: "INSERT INTO notes (title) VALUES ('kept')", values: [] });
    await db.close();
    assertMatch(await run(second, [], "--yes"), /is it a rename\? Then declare \.was\("title"\)/);
    const renamed = await run(second, [true, true]);
    assertMatch(renamed, /^Is notes\.headline the column that was called title so far\?\n/);
    assertMatch(renamed, /RENAME COLUMN "title" TO "headline"/);
    assertMatch(renamed, /Done\.$/);
    const after = await openDatabase(`sqlite:${path}`);
    const { rows } = await after.query({ text: "SELECT headline FROM notes", values: [] });
    await after.close();
    assertEquals(rows, [["kept"]]);
    const kept = await run(first, [false, true]);
    assertMatch(kept, /-- notes\.headline is not declared and stays/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("migrate runs the files of a folder, and a configuration names the tables", async () => {
  const folder = await Deno.makeTempDir();
  const printed: string[] = [];
  const dialogue = { print: (line: string) => printed.push(line), ask: null };
  const run = async (...args: readonly string[]) => {
    const command = commandOf(...args);
    const opened = await openMigrated(command);
    try {
      await migrateDatabase(command, opened, dialogue);
    } finally {
      await opened.db.close();
    }
    return printed.splice(0).join("\n");
  };
  try {
    await Deno.mkdir(`${folder}/sql`);
    await Deno.writeTextFile(`${folder}/sql/0001_a.sql`, "CREATE TABLE a (b);");
    const args = [`${folder}/a.db`, "--migrations", `${folder}/sql`];
    assertEquals(await run(...args, "--dry-run"), "-- 0001_a.sql\nCREATE TABLE a (b);");
    assertEquals(
      await run(...args, "--yes"),
      "-- 0001_a.sql\nCREATE TABLE a (b);\nDone: 0001_a.sql",
    );
    const fresh = [`${folder}/fresh.db`, "--migrations", `${folder}/sql`];
    assertMatch(await run(...fresh, "--baseline", "--yes"), /\nDone: 0001_a\.sql$/);
    assertMatch(await run(...fresh, "--yes"), /fresh\.db .*has every migration of/);
    await Deno.remove(`${folder}/sql/0001_a.sql`);
    assertMatch(await run(...args, "--yes"), /^-- 0001_a\.sql was applied, and is not in .*\n/);
    await assertRejects(
      () => run(`${folder}/a.db`, "--migrations", `${folder}/none`),
      Error,
      "read",
    );

    // A module is loaded once, and its database closed after one command.
    const configure = async (name: string) => {
      const config = `${folder}/${name}.config.ts`;
      await Deno.writeTextFile(
        config,
        `import { openDatabase, resource } from ${JSON.stringify(packageFront)};
${first.replaceAll("export ", "")}
const links = table("links", {
  team: integer().primaryKey().references(() => teams.id),
  note: integer().primaryKey().references(() => notes.id),
});
export default {
  db: await openDatabase(${JSON.stringify(`sqlite:${folder}/${name}.db`)}),
  resources: [
    resource(notes, { id: notes.id }),
    resource(teams, {
      id: teams.id,
      relations: {
        notes: {
          type: "manyToMany", resource: notes, through: links, foreignKey: links.team,
          references: links.note,
        },
      },
    }),
  ],
};
`,
      );
      return config;
    };
    const all = await run("--config", await configure("b"), "--yes");
    assertMatch(all, /CREATE TABLE[^]*Done\.$/);
    assertMatch(all, /CREATE TABLE "links"/);
    const other = `${folder}/schema.ts`;
    await Deno.writeTextFile(other, first.replace('table("notes"', 'table("others"'));
    const shown = await run("--config", await configure("c"), "--tables", other, "--dry-run");
    assertMatch(shown, /"others"/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("migrate says who migrates the tables of Drizzle that a module exports", async () => {
  await using folder = await scratchFolder();
  const file = `${folder.path}/schema.ts`;
  const drizzle = JSON.stringify(import.meta.resolve("drizzle-0.45/sqlite-core"));
  await Deno.writeTextFile(
    file,
    `import { integer, sqliteTable } from ${drizzle};
export const notes = sqliteTable("notes", { id: integer().primaryKey() });
`,
  );
  const opened = () => openMigrated(commandOf(`${folder.path}/notes.db`, "--tables", file));
  await assertRejects(opened, Error, "they were made by Drizzle");
  const empty = `${folder.path}/empty.ts`;
  await Deno.writeTextFile(empty, "export const notes = null;\n");
  const nothing = () => openMigrated(commandOf(`${folder.path}/notes.db`, "--tables", empty));
  await assertRejects(nothing, Error, "exports no table");
});

Deno.test("migrate --json prints a value for each statement, and one for the result", async () => {
  await using folder = await scratchFolder();
  const cli = new URL("../../cli.ts", import.meta.url).pathname;
  const mod = new URL("../../mod.ts", import.meta.url).href;
  await Deno.writeTextFile(
    `${folder.path}/tables.ts`,
    `import { integer, table } from "${mod}";
export const notes = table("notes", { id: integer().primaryKey() });`,
  );
  const run = async (...more: readonly string[]) => {
    const args = [`${folder.path}/a.db`, "--tables", `${folder.path}/tables.ts`, "--json", ...more];
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", cli, "migrate", ...args],
    }).output();
    const lines = new TextDecoder().decode(stdout).trim().split("\n");
    return { code, values: lines.filter((line) => line !== "").map((line) => JSON.parse(line)) };
  };
  assertEquals((await run("--check")).code, 1);
  const { code, values } = await run("--yes");
  assertEquals([code, values.length, values[1]], [0, 2, { isApplied: true }]);
  assertMatch(values[0].sql, /^CREATE TABLE "notes"/);
  assertEquals(await run("--check"), { code: 0, values: [{ differences: [] }] });
});
