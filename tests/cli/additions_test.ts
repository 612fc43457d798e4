import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { parseArguments } from "../../src/cli/arguments.ts";
import { runChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;
const functions = new URL("../fixtures/calibre_functions.ts", import.meta.url).pathname;

Deno.test("every command that opens a database takes functions and extensions", () => {
  const commands = ["import a.csv --into t --db a.db", "mcp a.db", "search reindex a.db"];
  for (const text of [...commands, "migrate a.db"]) {
    const args = `${text} --functions /f.ts --extension b.so --extension c.so`.split(" ");
    const command = parseArguments(args);
    assert("additions" in command, text);
    const { functions, extensions } = command.additions ?? {};
    assertEquals([String(functions), extensions], ["file:///f.ts", ["b.so", "c.so"]], text);
    assertEquals("additions" in parseArguments(text.split(" ")), false, text);
  }
  for (const text of ["import a.csv --into t", "search reindex", "migrate"]) {
    const command = parseArguments([...text.split(" "), "--extension", "b.so"]);
    assert(command.kind === "misused" && command.message.includes("a configuration"), text);
  }
});

testUnless(
  null,
  "commands write to tables, and read those, that call functions of the application",
  async () => {
    await using folder = await scratchFolder();
    const cwd = folder.path;
    createLibrary(`${cwd}/a.db`);
    const command = async (...args: readonly string[]) => {
      const without = await runChild([cli, ...args], { cwd });
      const child = await runChild([cli, ...args, "--functions", functions], { cwd });
      assertEquals([without.code === 0, child.code], [false, 0], `${args}: ${child.stderr}`);
      return child.stderr;
    };
    await Deno.writeTextFile(`${cwd}/rows.csv`, "id,title\r\n1,The Dispossessed\r\n");
    await command("import", "rows.csv", "--into", "books", "--db", "a.db");
    await Deno.mkdir(`${cwd}/sql`);
    await Deno.writeTextFile(
      `${cwd}/sql/0001_one.sql`,
      "INSERT INTO books VALUES (2,'A Wizard','')",
    );
    await command("migrate", "a.db", "--migrations", "sql", "--yes");
    await writeByMcp(`${cwd}/a.db`);
    assertEquals(sortedTitles(`${cwd}/a.db`), ["Dispossessed, The", "Wizard, A", "Telling, The"]);
    const indexed = await runChild(
      [cli, "search", "reindex", "a.db", "--functions", functions],
      { cwd },
    );
    assert(indexed.stderr.includes("words: 1 row"), indexed.stderr);
  },
  // The client of the SDK leaves the timer by which it would kill the process.
  { sanitizeOps: false, sanitizeResources: false },
);

function createLibrary(path: string): void {
  const db = new DatabaseSync(path);
  db.function("reversed", { deterministic: true }, (title) => String(title));
  db.exec(`
    CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL, sort TEXT);
    CREATE TRIGGER books_insert AFTER INSERT ON books BEGIN
      UPDATE books SET sort = title_sort(NEW.title) WHERE id = NEW.id; END;
    CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT, back TEXT AS (reversed(word)) VIRTUAL);
    INSERT INTO words (id, word) VALUES (1, 'tea');`);
  db.close();
}

async function writeByMcp(path: string): Promise<void> {
  const client = new Client({ name: "tests", version: "1" });
  const args = ["run", "-A", cli, "mcp", path, "--write", "--functions", functions];
  await client.connect(
    new StdioClientTransport({ command: Deno.execPath(), args, stderr: "ignore" }),
  );
  const values = { id: 3, title: "The Telling" };
  const written = await client.callTool({
    name: "write_row",
    arguments: { resource: "books", values },
  });
  await client.close();
  assertEquals(written.isError ?? false, false, JSON.stringify(written));
}

function sortedTitles(path: string): readonly unknown[] {
  const db = new DatabaseSync(path);
  const rows = db.prepare("SELECT sort FROM books ORDER BY id").all();
  db.close();
  return rows.map(({ sort }) => sort);
}
