import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { createApp, openDatabase, resource } from "../../mod.ts";
import { scratchFolder } from "../support/scratch.ts";

// `node:sqlite` reads text only up to its first NUL, so several keys can look equal.
Deno.test("a walk through keys with NUL characters ends", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/keys.db`;
  {
    using program = new DatabaseSync(path);
    program.exec(`CREATE TABLE n (id TEXT PRIMARY KEY NOT NULL);
      INSERT INTO n VALUES ('a'), ('a' || char(0) || 'b'), ('a' || char(0) || 'c'), ('d');`);
  }
  const db = await openDatabase(`node-sqlite:${path}`, { readOnly: true });
  const { tables } = await db.introspect();
  const rights = { public: { read: true } } as const;
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    resources: tables.map((table) => resource(table, { id: "id", auth: rights })),
  });
  const page = async (limit: number, cursor: string) => {
    const query = new URLSearchParams({ limit: String(limit), cursor });
    const response = await app.fetch(new Request(`http://test/api/n?${query}`));
    return { status: response.status, body: await response.json() };
  };
  const first = await page(1, "");
  const { status, body } = await page(1, first.body.nextCursor);
  assertEquals([status, body.code], [400, "CURSOR_INVALID"]);
  // A page that reaches another value continues.
  const other = await page(3, first.body.nextCursor);
  assertEquals(other.body.items.at(-1), { id: "d" });
  await app.close();
  await db.close();
});
