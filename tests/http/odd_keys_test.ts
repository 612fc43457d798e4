import { assertEquals } from "@std/assert";
import { all, resource, table, text } from "../../mod.ts";
import { engines } from "../support/engines.ts";
import { testOnEngines, withService } from "../support/http.ts";
import { run, runScript } from "../support/scratch.ts";

const ada = { "x-user": "ada" };

const words = table("words", { id: text().primaryKey(), v: text() });

testOnEngines(
  "a row with the key '', '.' or '..' is reached by a comma before the key",
  (engine) =>
    withService(engine, [words], () => ({
      resources: [
        resource(words, {
          id: words.id,
          auth: { public: true, create: () => all(), update: () => all(), delete: () => all() },
        }),
      ],
    }), async ({ get, send }) => {
      for (const id of ["", ".", "..", ",", ",.", "a,b"]) {
        const created = await send("POST", "/api/words", { id, v: "1" }, ada);
        const path = created.headers.get("location") ?? "";
        assertEquals([created.status, await row(path)], [201, { id, v: "1" }], path);
        const patched = await send("PATCH", path, { v: "2" }, ada);
        assertEquals([patched.status, await row(path)], [200, { id, v: "2" }], path);
        // The comma is allowed before any key.
        assertEquals(await row(`/api/words/,${encodeURIComponent(id)}`), { id, v: "2" });
        assertEquals((await send("DELETE", path, undefined, ada)).status, 204);
        assertEquals(await row(path), "NOT_FOUND");
      }
      async function row(path: string): Promise<unknown> {
        const { body } = await get(path);
        return body.code ?? body;
      }
    }),
);

/** Tables whose keys have several storage classes, as programs store them. */
const script = `
  CREATE TABLE blobs (k BLOB PRIMARY KEY, v TEXT);
  CREATE TABLE texts (k TEXT PRIMARY KEY, v TEXT);
  CREATE TABLE ints (k INT PRIMARY KEY, v TEXT);
  CREATE TABLE bare (k PRIMARY KEY, v TEXT) WITHOUT ROWID;
  CREATE TABLE pairs (a TEXT, b, v TEXT, PRIMARY KEY (a, b));
  CREATE TABLE few (k TEXT PRIMARY KEY, v TEXT);
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
    INSERT INTO few SELECT 'k' || i, 'v' FROM n;
  INSERT INTO few VALUES (x'00ff', 'v');
  ${
  ["blobs", "texts", "ints", "bare"].map((name) =>
    `INSERT INTO ${name} VALUES (x'00ff', 'v'), (x'', 'v'), ('AP8=', 'v'), ('', 'v'), ('text', 'v'),
      ('a/b', 'v'), ('.', 'v'), ('5x', 'v'), (x'35', 'v'), (7, 'v'), (1.5, 'v')`
  ).join(";\n  ")
};
  INSERT INTO blobs VALUES (5, 'v'), ('5', 'v');
  INSERT INTO pairs VALUES ('', 1, 'v'), ('', '', 'v'), ('a,b', x'00ff', 'v'), (x'2c', 'x', 'v')`;

testOnEngines(
  "a key of bytes, or of bytes, numbers and strings, leads to its row",
  async (engine) => {
    const db = await engine.open();
    await runScript(db.driver, script);
    const { tables } = await db.introspect();
    const rights = { create: () => all(), update: () => all(), delete: () => all() };
    await withService({ ...engine, open: () => Promise.resolve(db) }, [], () => ({
      resources: tables.map((table) =>
        resource(table, {
          id: table.primaryKey.map(({ name }) => name),
          auth: { public: true, ...rights },
        })
      ),
    }), async ({ get, send }) => {
      for (const { name, primaryKey } of tables) {
        const { body } = await get(`/api/${name}?limit=100`);
        const { items, nextCursor } = body;
        const { body: rest } = nextCursor === null
          ? { body: { items: [] } }
          : await get(`/api/${name}?orderBy=-${primaryKey[0]?.name}&limit=1`);
        for (const item of [...items, ...rest.items]) {
          const key = primaryKey.map((column) => {
            const value = item[column.name];
            const isQuoted = typeof value === "string" && /^$|^-?[\d.]+$/.test(value) &&
              column.databaseType !== undefined;
            return encodeURIComponent(isQuoted ? `"${value}"` : String(value));
          });
          const path = `/api/${name}/,${key}`.replace(",", key.length === 1 ? "," : "");
          assertEquals((await get(path)).body, item, path);
          const id = `WHERE v = ? AND typeof(${primaryKey[0]?.dbName}) <> 'null'`;
          const before = await run(db, `SELECT count(*) FROM "${name}" ${id}`, "v");
          assertEquals((await send("PATCH", path, { v: "w" }, ada)).status, 200, path);
          const after = await run(db, `SELECT count(*) FROM "${name}" ${id}`, "v");
          assertEquals(Number(before.rows[0]?.[0]) - Number(after.rows[0]?.[0]), 1, path);
          assertEquals((await send("DELETE", path, undefined, ada)).status, 204, path);
          assertEquals((await send("POST", `/api/${name}`, item, ada)).status, 201, path);
          assertEquals((await get(path)).body, item, path);
        }
      }
      const first = await run(
        db,
        `SELECT group_concat(quote(k)) FROM (SELECT k FROM blobs ORDER BY k)`,
      );
      assertEquals(
        first.rows,
        [["1.5,5,7,'','.','5','5x','AP8=','a/b','text',X'',X'00FF',X'35'"]],
        "the stored keys are the same",
      );
    });
  },
  engines.filter(({ name }) => name.includes("sqlite")),
);
