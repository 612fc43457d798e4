import { assertEquals } from "@std/assert";
import { all, createApp, openDatabase, resource } from "../../mod.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const missing = Deno.build.os === "linux" && await runs("cc", "--version")
  ? null
  : "there is no C compiler";

for (const scheme of ["sqlite", "node-sqlite"]) {
  testUnless(missing, `an extension has a collation for every connection (${scheme})`, async () => {
    await using folder = await scratchFolder();
    const extension = `${folder.path}/unicase.so`;
    const source = new URL("../fixtures/unicase.c", import.meta.url).pathname;
    assertEquals(await runs("cc", "-shared", "-fPIC", source, "-o", extension), true);
    const db = await openDatabase(`${scheme}:${folder.path}/anki.db`, { extensions: [extension] });
    const run = async (text: string) => (await db.driver.query({ text, values: [] })).rows;
    await run("CREATE TABLE tags (tag TEXT PRIMARY KEY COLLATE unicase) WITHOUT ROWID");
    await run("CREATE TABLE decks (id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE unicase)");
    await run("CREATE UNIQUE INDEX decks_name ON decks (name)");
    const { tables, leftOut, refusedWrites } = await db.introspect();
    assertEquals([leftOut, refusedWrites], [[], []]);
    const rights = { public: { read: true }, create: () => all(), update: () => all() };
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      auth: {
        middleware: async (context, next) => {
          context.set("user", { id: "ada" });
          await next();
        },
      },
      resources: tables.map((table) =>
        resource(table, { id: table.primaryKey.map(({ name }) => name), auth: rights })
      ),
    });
    const send = async (method: string, path: string, body?: unknown) => {
      const headers = { "content-type": "application/json" };
      const content = body === undefined ? {} : { headers, body: JSON.stringify(body) };
      const response = await app.fetch(
        new Request(`http://test/api/${path}`, { method, ...content }),
      );
      return { status: response.status, body: await response.json() };
    };
    for (const name of ["b", "A", "c"]) {
      assertEquals((await send("POST", "decks", { name })).status, 201);
      assertEquals((await send("POST", "tags", { tag: name })).status, 201);
    }
    assertEquals((await send("POST", "decks", { name: "B" })).status, 409);
    const names = (await send("GET", "decks?orderBy=name")).body.items
      .map(({ name }: { name: string }) => name);
    assertEquals(names, ["A", "b", "c"]);
    // No statement may load one: the extensions are those of the program.
    const refused = await Promise.try(() => run(`SELECT load_extension('${extension}')`))
      .then(() => "none", ({ cause }: Error) => String(cause));
    assertEquals(refused.includes("not authorized"), true, refused);
    const { signal } = new AbortController();
    const limits = { identity: "a", signal, maxBytes: 1_000_000, timeoutMs: 60_000, isLong: true };
    const { rows } = await db.driver.reads(limits).query({
      text: "SELECT tag FROM tags WHERE tag = 'a'",
      values: [],
    });
    assertEquals(rows, [["A"]]);
    await app.close();
    await db.close();
  });
}

async function runs(command: string, ...args: readonly string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(command, {
      args: [...args],
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
