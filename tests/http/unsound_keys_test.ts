import { assertEquals } from "@std/assert";
import { all, resource } from "../../mod.ts";
import { type Service, testOnDialects, withService } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";

const scripts = {
  sqlite: `
CREATE TABLE loose (id INT PRIMARY KEY, t TEXT);
INSERT INTO loose VALUES (NULL, 'a'), (NULL, 'b'), (NULL, 'c'), (1, 'd');
CREATE TABLE mixed (id INTEGER PRIMARY KEY, r REAL, v INT);
INSERT INTO mixed VALUES (1, 1.5, 1), (2, 'text', 'n/a'), (3, '', 10), (4, 0.0, 2), (5, 2.0, 2.5)`,
  postgres: `
CREATE TABLE parent (id int PRIMARY KEY, t text);
CREATE TABLE child (n int) INHERITS (parent);
INSERT INTO parent VALUES (1, 'd');
INSERT INTO child VALUES (1, 'a', 5), (2, 'b', 6);
CREATE TABLE ruled (id int PRIMARY KEY, t text);
CREATE RULE kept AS ON UPDATE TO ruled DO INSTEAD NOTHING;
CREATE RULE stays AS ON DELETE TO ruled DO INSTEAD NOTHING;
INSERT INTO ruled VALUES (1, 'a')`,
};

/** Walks a list one row a page; an endless walk ends after a few. */
async function walk({ get }: Service, path: string, field: string): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  let cursor = "";
  do {
    const { body } = await get(`${path}&limit=1${cursor}`);
    found.push(...body.items.map((row: Record<string, unknown>) => row[field]));
    cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
  } while (cursor !== "" && found.length < 9);
  return found;
}

testOnDialects(
  "a key that does not distinguish rows lost some, or wrote to several",
  async (engine) => {
    const db = await engine.open();
    await runScript(db.driver, scripts[db.dialect.engine]);
    const { tables } = await db.introspect();
    const rights = { create: () => all(), update: () => all(), delete: () => all() };
    await withService(
      { ...engine, open: () => Promise.resolve(db) },
      [],
      () => ({
        resources: tables.map((table) =>
          resource(table, {
            id: table.primaryKey.map(({ name }) => name),
            auth: table.readOnly ? { public: true } : { public: true, ...rights },
          })
        ),
      }),
      async (service) => {
        const send = (method: string, path: string, body?: unknown) =>
          service.send(method, path, body, { "x-user": "ada" });
        if (db.dialect.engine === "sqlite") {
          assertEquals((await walk(service, "/api/loose?orderBy=t", "t")).join(""), "abcd");
          assertEquals(
            (await walk(service, "/api/loose?orderBy=-id", "t")).toSorted().join(""),
            "abcd",
          );
          for (const order of ["r", "-r", "v", "-v"]) {
            const ids = await walk(service, `/api/mixed?orderBy=${order}`, "id");
            const { body } = await service.get(`/api/mixed?orderBy=${order}`);
            assertEquals(ids, body.items.map(({ id }: { id: number }) => id), order);
            assertEquals(ids.toSorted(), [1, 2, 3, 4, 5]);
          }
          return;
        }
        assertEquals((await walk(service, "/api/parent?orderBy=t", "t")).join(""), "abd");
        for (const method of ["PUT", "PATCH", "DELETE"]) {
          const { status } = await send(method, "/api/parent/1", { id: 1, t: "x" });
          assertEquals(status >= 400 && status < 500, true, `${method}: ${status}`);
        }
        assertEquals((await walk(service, "/api/parent?orderBy=t", "t")).join(""), "abd");
        for (const method of ["PUT", "PATCH", "DELETE"]) {
          const body = method === "DELETE" ? undefined : { t: "x" };
          const { status } = await send(method, "/api/ruled/1", body);
          assertEquals(status >= 400 && status < 500, true, `${method} ruled: ${status}`);
        }
      },
    );
  },
);
