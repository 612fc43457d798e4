import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals } from "@std/assert";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { parseArguments } from "../../src/cli/arguments.ts";
import { runChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;

Deno.test("the arguments of mcp name a database", () => {
  const shop = { kind: "mcp", database: "shop.db", write: false, schemas: null } as const;
  assertEquals(parseArguments(["mcp", "shop.db"]), shop);
  assertEquals(parseArguments(["mcp", "--write", "shop.db"]), { ...shop, write: true });
  for (const args of [[], ["a", "b"], ["a", "--wirte"], ["a", "--write=no"]]) {
    assertEquals(parseArguments(["mcp", ...args]).kind, "misused");
  }
});

// The client of the SDK leaves the timer by which it would kill the process.
const sanitizers = { sanitizeOps: false, sanitizeResources: false };

testUnless(
  null,
  "a client that starts the command reads, and writes with --write alone, also altered tables",
  async () => {
    await using folder = await scratchFolder();
    const path = `${folder.path}/shop.db`;
    const db = new DatabaseSync(path);
    db.exec(
      "CREATE TABLE tea (id INTEGER PRIMARY KEY, name TEXT NOT NULL); INSERT INTO tea VALUES (1, 'Green')",
    );
    db.close();
    for (const more of [[], ["--write"]]) {
      const client = new Client({ name: "tests", version: "1" });
      const args = ["run", "-A", cli, "mcp", path, ...more];
      await client.connect(
        new StdioClientTransport({ command: Deno.execPath(), args, stderr: "ignore" }),
      );
      try {
        const { tools } = await client.listTools();
        assertEquals(tools.some(({ name }) => name === "write_row"), more.length > 0);
        const rows = await client.callTool({ name: "query_rows", arguments: { resource: "tea" } });
        assert(JSON.stringify(rows).includes("Green"));
        if (more.length === 0) continue;
        const values = { resource: "tea", values: { name: "Black" } };
        const written = await client.callTool({ name: "write_row", arguments: values });
        assert(JSON.stringify(written).includes("Black"), JSON.stringify(written));
        const other = new DatabaseSync(path);
        other.exec("ALTER TABLE tea RENAME COLUMN name TO label");
        other.close();
        const again = await client.callTool({
          name: "write_row",
          arguments: { resource: "tea", values: { label: "Oolong" } },
        });
        assertEquals(again.isError, undefined, JSON.stringify(again));
        const third = new DatabaseSync(path);
        third.exec("CREATE TABLE fresh (id INTEGER PRIMARY KEY); INSERT INTO fresh VALUES (7)");
        third.close();
        const query = { name: "query_rows", arguments: { resource: "fresh" } };
        assert(JSON.stringify(await client.callTool(query)).includes("7"));
        const shown = await client.callTool({ name: "query_rows", arguments: { resource: "tea" } });
        assert(JSON.stringify(shown).includes("Oolong"), JSON.stringify(shown));
      } finally {
        await client.close();
      }
    }
    const none = await runChild([cli, "mcp", `${folder.path}/none.db`]);
    assertEquals([none.code, none.stdout], [2, ""]);
  },
  sanitizers,
);
