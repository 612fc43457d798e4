import { assertEquals } from "@std/assert";
import { all, resource } from "../../mod.ts";
import { testOnDialects, withService } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";

const scripts = {
  sqlite: `
CREATE TABLE kept (id INTEGER PRIMARY KEY, n INT);
INSERT INTO kept VALUES (1, 1);
CREATE TRIGGER stays BEFORE UPDATE ON kept BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER lives BEFORE DELETE ON kept BEGIN SELECT RAISE(IGNORE); END`,
  postgres: `
CREATE TABLE kept (id int PRIMARY KEY, n int);
INSERT INTO kept VALUES (1, 1);
CREATE FUNCTION ignored() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER stays BEFORE UPDATE OR DELETE ON kept FOR EACH ROW EXECUTE FUNCTION ignored()`,
};

testOnDialects(
  "a row that a trigger keeps was said to be changed by others, or not to be there",
  async (engine) => {
    const db = await engine.open();
    await runScript(db.driver, scripts[db.dialect.engine]);
    const { tables: [table] } = await db.introspect();
    if (table === undefined) throw new Error("there is no table");
    const rights = { create: () => all(), update: () => all(), delete: () => all() };
    for (const etag of [undefined, {}]) {
      const options = { id: "id", auth: { public: true, ...rights }, etag };
      const opened = await engine.open();
      await runScript(opened.driver, scripts[opened.dialect.engine]);
      await withService(
        { ...engine, open: () => Promise.resolve(opened) },
        [],
        () => ({ resources: [resource(table, options)] }),
        async ({ get, send }) => {
          const user = { "x-user": "ada" };
          const tag = (await get("/api/kept/1")).headers.get("etag");
          for (const headers of tag === null ? [user] : [user, { ...user, "if-match": tag }]) {
            for (const method of ["PATCH", "PUT"]) {
              const { status, body } = await send(method, "/api/kept/1", { n: 2 }, headers);
              assertEquals([status, body.detail], [
                422,
                "Cannot update: the database did not keep the change",
              ]);
            }
            const { status, body } = await send("DELETE", "/api/kept/1", undefined, headers);
            assertEquals([status, body.detail], [
              409,
              "Cannot delete: the database keeps this row",
            ]);
          }
          assertEquals((await get("/api/kept/1")).body, { id: 1, n: 1 });
        },
      );
    }
    await db.close();
  },
);
