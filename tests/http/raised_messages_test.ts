import { assertEquals } from "@std/assert";
import { all, resource } from "../../mod.ts";
import type { Engine } from "../support/engines.ts";
import { testOnEveryEngine, withService } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";

/** Each row with a `kind` is refused by the raise of that name. */
const scripts = {
  sqlite: `
CREATE TABLE goods (id INTEGER PRIMARY KEY, kind TEXT, n INT DEFAULT 0);
CREATE TABLE parts (id INTEGER PRIMARY KEY, good INT REFERENCES goods ON DELETE RESTRICT);
INSERT INTO goods (id) VALUES (1), (2), (3);
INSERT INTO parts VALUES (1, 1);
CREATE TRIGGER made BEFORE INSERT ON goods WHEN new.kind IS NOT NULL BEGIN
  SELECT CASE new.kind WHEN 'plain' THEN RAISE(ABORT, 'Stock is 0') WHEN 'fail' THEN
    RAISE(FAIL, 'Stock is 0') WHEN 'rollback' THEN RAISE(ROLLBACK, 'Stock is 0') END; END;
CREATE TRIGGER changed AFTER UPDATE ON goods WHEN new.n > 0 AND new.id = 2 BEGIN
  SELECT RAISE(FAIL, 'Stock is 0'); END;
CREATE TRIGGER removed BEFORE DELETE ON goods WHEN old.id = 3 BEGIN
  SELECT RAISE(ABORT, 'Stock is 0'); END`,
  postgres: `
CREATE TABLE goods (id int PRIMARY KEY, kind text, n int DEFAULT 0);
CREATE TABLE parts (id int PRIMARY KEY, good int REFERENCES goods ON DELETE RESTRICT);
INSERT INTO goods (id) VALUES (1), (2), (3);
INSERT INTO parts VALUES (1, 1);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'DELETE' THEN
    IF old.id = 3 THEN RAISE EXCEPTION 'Stock is 0'; END IF; --
    IF old.id = 2 THEN ASSERT false, 'Stock is 0'; END IF; --
    IF old.id = 40 THEN SELECT kind INTO STRICT old.kind FROM goods WHERE id = 999; END IF; --
    RETURN old; --
  END IF; --
  IF TG_OP = 'UPDATE' THEN
    IF new.n > 0 AND new.id = 2 THEN RAISE EXCEPTION 'Stock is 0'; END IF; --
    RETURN new; --
  END IF; --
  CASE new.kind
    WHEN 'plain' THEN RAISE EXCEPTION 'Stock is 0' USING DETAIL = 'secret', HINT = 'secret'; --
    WHEN 'own' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'ST001'; --
    WHEN 'PT402' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'PT402'; --
    WHEN 'PT405' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'PT405'; --
    WHEN 'PT503' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'PT503'; --
    WHEN 'PT204' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'PT204'; --
    WHEN 'check' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'check_violation'; --
    WHEN 'unique' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'unique_violation'; --
    WHEN 'P0002' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'no_data_found'; --
    WHEN '42P01' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'undefined_table'; --
    WHEN '42601' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'syntax_error'; --
    WHEN '42704' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'undefined_object'; --
    WHEN '42883' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'undefined_function'; --
    WHEN '3F000' THEN RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'invalid_schema_name'; --
    WHEN 'assert' THEN ASSERT false, 'Stock is 0'; --
    WHEN 'none' THEN SELECT kind INTO STRICT new.kind FROM goods WHERE id = 999; --
    WHEN 'several' THEN SELECT kind INTO STRICT new.kind FROM goods; --
    WHEN 'case' THEN CASE new.id WHEN 0 THEN NULL; END CASE; --
    WHEN 'long' THEN RAISE EXCEPTION E'%\\n%', repeat('é', 400), repeat('x', 90000); --
    WHEN 'empty' THEN RAISE EXCEPTION ' '; --
    WHEN 'engine' THEN PERFORM 1 / (new.id - new.id); --
    ELSE NULL; --
  END CASE; --
  RETURN new; --
END $$;
CREATE TRIGGER refuses BEFORE INSERT OR UPDATE OR DELETE ON goods
  FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION 'Stock is 0' USING ERRCODE = 'PT409'; END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON goods DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (new.kind = 'late') EXECUTE FUNCTION late()`,
};

interface Goods {
  readonly send: (method: string, path: string, body?: unknown) => Promise<readonly unknown[]>;
  readonly isPostgres: boolean;
  /** The values of `n` of all rows. */
  readonly stored: () => Promise<readonly unknown[]>;
}

async function withGoods(
  engine: Engine,
  raisedMessages: boolean,
  work: (goods: Goods) => Promise<void>,
): Promise<void> {
  const db = await engine.open({ raisedMessages });
  await runScript(db.driver, scripts[db.dialect.engine]);
  const { tables } = await db.introspect();
  const rights = { create: () => all(), update: () => all(), delete: () => all() };
  await withService(
    { ...engine, open: () => Promise.resolve(db) },
    [],
    () => ({
      resources: tables.map((table) =>
        resource(table, { id: "id", auth: { public: true, ...rights }, batch: {} })
      ),
    }),
    async ({ send }) => {
      await work({
        async stored() {
          const text = "SELECT n FROM goods ORDER BY id";
          return (await db.driver.query({ text, values: [] })).rows.map(([n]) => Number(n));
        },
        isPostgres: db.dialect.engine === "postgres",
        async send(method, path, given) {
          const { status, body } = await send(method, `/api/${path}`, given, { "x-user": "ada" });
          return [status, body?.code, body?.detail, body?.details?.index].filter((one) =>
            one !== undefined
          );
        },
      });
    },
  );
}

const said = "Stock is 0";

testOnEveryEngine(
  "what a trigger raises on purpose was a value that is missing, or a 500",
  (engine) =>
    withGoods(engine, true, async ({ send, isPostgres, stored }) => {
      const make = (kind: string, id = 9) => send("POST", "goods", { id, kind });
      assertEquals(await make("plain"), [422, "VALIDATION_ERROR", said]);
      for (const path of ["goods/2"]) {
        assertEquals(await send("PATCH", path, { n: 1 }), [422, "VALIDATION_ERROR", said]);
        assertEquals(await send("PUT", path, { n: 1 }), [422, "VALIDATION_ERROR", said]);
      }
      assertEquals(await send("DELETE", "goods/3"), [409, "CONFLICT", said]);
      assertEquals(
        await send("DELETE", "goods/1"),
        [409, "CONFLICT", "Cannot delete: another row refers to this one"],
      );
      const items = [{ id: 20 }, { id: 21, kind: "plain" }];
      assertEquals(
        (await send("POST", "goods/batch", { items })).slice(0, 3),
        [422, "VALIDATION_ERROR", said],
      );
      assertEquals((await send("GET", "goods/20"))[0], 404);
      const patch = { filter: "id=in=(1,2,3)", patch: { n: 5 } };
      assertEquals(
        (await send("PATCH", "goods/batch", patch)).slice(0, 3),
        [422, "VALIDATION_ERROR", said],
      );
      assertEquals(await stored(), [0, 0, 0]);
      if (!isPostgres) {
        for (const kind of ["fail", "rollback"]) {
          assertEquals(await make(kind), [422, "VALIDATION_ERROR", said]);
        }
        assertEquals(await stored(), [0, 0, 0]);
        return;
      }
      const refused = "REFUSED_BY_DATABASE";
      assertEquals(await make("own"), [422, refused, said]);
      assertEquals(await make("PT402"), [402, refused, said]);
      assertEquals(await make("PT503"), [503, refused, said]);
      assertEquals(await make("PT405"), [422, refused, said]);
      assertEquals(await make("PT204"), [422, refused, said]);
      assertEquals(await make("late"), [409, refused, said]);
      assertEquals(await make("P0002"), [422, refused, said]);
      assertEquals(await make("check"), [422, "VALIDATION_ERROR", said]);
      assertEquals(await make("unique"), [409, "CONFLICT", said]);
      assertEquals((await make("long"))[2], `${"é".repeat(400)} ${"x".repeat(98)}…`);
      for (const code of ["42P01", "42601", "42704", "42883", "3F000"]) {
        assertEquals(await make(code), [422, refused, said], code);
      }
      assertEquals(await make("assert"), [422, "VALIDATION_ERROR", said]);
      assertEquals(await send("DELETE", "goods/2"), [409, "CONFLICT", said]);
      const unsaid = "Cannot create: a value is missing or not allowed";
      assertEquals(await make("empty"), [422, "VALIDATION_ERROR", unsaid]);
      const engineSaid = "Cannot create: the database does not take one of the values";
      for (const kind of ["engine", "none", "several", "case"]) {
        assertEquals(await make(kind), [422, "VALIDATION_ERROR", engineSaid], kind);
      }
      assertEquals((await make("null", 40))[0], 201);
      assertEquals(
        await send("DELETE", "goods/40"),
        [409, "CONFLICT", "Cannot delete: the database keeps this row"],
      );
      const twice = [{ id: 30 }, { id: 31, kind: "PT402" }];
      assertEquals((await send("POST", "goods/batch", { items: twice })).slice(0, 3), [
        402,
        refused,
        said,
      ]);
    }),
);

testOnEveryEngine(
  "without raisedMessages the status stays, and the words are fixed",
  (engine) =>
    withGoods(engine, false, async ({ send, isPostgres }) => {
      const make = (kind: string) => send("POST", "goods", { id: 9, kind });
      const fixed = "Cannot create: a value is missing or not allowed";
      assertEquals(await make("plain"), [422, "VALIDATION_ERROR", fixed]);
      if (!isPostgres) return;
      const own = "Cannot create: a rule of the database refused it";
      assertEquals(await make("own"), [422, "REFUSED_BY_DATABASE", own]);
      assertEquals(await make("PT402"), [402, "REFUSED_BY_DATABASE", own]);
    }),
);
