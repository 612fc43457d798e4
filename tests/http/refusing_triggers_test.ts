/** Triggers that write elsewhere, and then prevent the write of a request or run without any row. */
import { assertEquals } from "@std/assert";
import { all, createApp, openDatabase, resource } from "../../mod.ts";
import { tablesChangedByEmptyWriteSql } from "../../src/engines/postgres/driver/tables/tables_with_triggers_sql.ts";
import { testOnPostgres, testOnPostgresDriver } from "../support/postgres_tests.ts";
import { runScript } from "../support/scratch.ts";

const tables = `
CREATE TABLE audit (what text);
CREATE TABLE kept (id int PRIMARY KEY, n int, version int NOT NULL DEFAULT 1);
CREATE TABLE told (id int PRIMARY KEY, n int, version int NOT NULL DEFAULT 1);
INSERT INTO kept VALUES (1, 1);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit VALUES (TG_OP); --
  RETURN NULL; --
END $$;
CREATE TRIGGER keeps BEFORE INSERT OR UPDATE OR DELETE ON kept
  FOR EACH ROW EXECUTE FUNCTION keep();
CREATE TRIGGER tells AFTER UPDATE OR DELETE ON told FOR EACH STATEMENT EXECUTE FUNCTION keep();
CREATE TABLE lost (id int PRIMARY KEY, n int, version int NOT NULL DEFAULT 1);
INSERT INTO lost VALUES (1, 1);
CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO nowhere.messages VALUES (1); --
  RETURN NULL; --
END $$;
CREATE TRIGGER loses AFTER INSERT OR UPDATE OR DELETE ON lost
  FOR EACH STATEMENT EXECUTE FUNCTION lose()`;

const requests = [
  ["POST", "kept", { id: 2 }, undefined, 422],
  ["PATCH", "kept/1", { n: 2 }, undefined, 422],
  ["PATCH", "kept/1", { n: 2 }, 'W/"1"', 422],
  ["DELETE", "kept/1", undefined, undefined, 409],
  ["DELETE", "kept/1", undefined, 'W/"1"', 409],
  // A trigger that names a missing table was a 500 for writes in a transaction.
  ["POST", "lost", { id: 2 }, undefined, 409],
  ["POST", "lost/batch", { items: [{ id: 2 }, { id: 3 }] }, undefined, 409],
  ["PATCH", "lost/1", { n: 2 }, undefined, 409],
  ["PATCH", "lost/1", { n: 2 }, 'W/"1"', 409],
  ["DELETE", "lost/1", undefined, undefined, 409],
  ["DELETE", "lost/1", undefined, 'W/"1"', 409],
  ["PATCH", "told/1", { n: 2 }, undefined, 404],
  ["DELETE", "told/1", undefined, undefined, 404],
] as const;

for (const isVersioned of [true, false]) {
  testOnPostgres(
    `a refused write keeps nothing that a trigger wrote, ETags: ${isVersioned}`,
    async (url) => {
      const db = await openDatabase(url);
      await runScript(db.driver, tables);
      const served = (await db.introspect()).tables.filter(({ name }) => name !== "audit");
      const rights = { create: () => all(), update: () => all(), delete: () => all() };
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        changes: { mode: "triggers" },
        auth: { use: [{ name: "test", identify: () => ({ user: { id: "ada" } }) }] },
        resources: served.map((table) =>
          resource(table, {
            id: "id",
            auth: { public: true, ...rights },
            ...(isVersioned && { etag: { versionField: "version" } }),
          })
        ),
      });
      for (const [method, path, body, ifMatch, expected] of requests) {
        if (ifMatch !== undefined && !isVersioned) continue;
        const response = await app.fetch(
          new Request(`http://test/api/${path}`, {
            method,
            headers: {
              "content-type": "application/json",
              ...(ifMatch !== undefined && { "if-match": ifMatch }),
            },
            body: body === undefined ? null : JSON.stringify(body),
          }),
        );
        await response.body?.cancel();
        const { rows } = await db.driver.query({ text: "SELECT what FROM audit", values: [] });
        assertEquals([method, path, response.status, rows], [method, path, expected, []]);
      }
      await app.close();
    },
  );
}

const bodies = {
  touched: ["BEFORE UPDATE", "BEGIN NEW.n := 1; RETURN NEW; END"],
  deletable: ["BEFORE DELETE", "BEGIN RETURN OLD; END"],
  nothing: ["BEFORE UPDATE", "BEGIN RETURN NULL; END"],
  assigned: ["BEFORE UPDATE", "BEGIN NEW := NULL; RETURN NEW; END"],
  selected: ["BEFORE UPDATE", "BEGIN SELECT * INTO NEW FROM other; RETURN NEW; END"],
  wrong: ["BEFORE DELETE", "BEGIN RETURN NEW; END"],
  mixed: ["BEFORE UPDATE OR DELETE", "BEGIN RETURN NEW; END"],
  truncated: ["BEFORE TRUNCATE", "BEGIN RETURN NULL; END"],
  after: ["AFTER INSERT", "BEGIN RETURN NEW; END"],
} as const;

testOnPostgresDriver(
  "a trigger that returns the row, and does nothing else to it, needs no transaction",
  async (open) => {
    const driver = await open();
    for (const [name, [event, body]] of Object.entries(bodies)) {
      const each = event === "BEFORE TRUNCATE" ? "STATEMENT" : "ROW";
      for (
        const text of [
          `CREATE TABLE ${name} (id int PRIMARY KEY, n int)`,
          `CREATE FUNCTION f_${name}() RETURNS trigger LANGUAGE plpgsql AS $$ ${body} $$`,
          `CREATE TRIGGER t ${event} ON ${name} FOR EACH ${each} EXECUTE FUNCTION f_${name}()`,
        ]
      ) await driver.query({ text, values: [] });
    }
    const { rows } = await driver.query({ text: tablesChangedByEmptyWriteSql, values: [] });
    const found = rows.map(([, name]) => String(name)).filter((name) => name in bodies).toSorted();
    assertEquals(found, ["assigned", "mixed", "nothing", "selected", "wrong"]);
  },
);
