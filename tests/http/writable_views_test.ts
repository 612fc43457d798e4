/** Views with INSTEAD OF triggers, and views that Postgres itself can update. */
import { assertEquals } from "@std/assert";
import {
  all,
  createApp,
  type Database,
  openDatabase,
  resource,
  type ResourceDefinition,
  rsql,
} from "../../mod.ts";
import type { TableInfo } from "../../exports/schema.ts";
import { resolveChangesOptions } from "../../src/db/changes/changes_options.ts";
import { openRecordingDriver } from "../../src/db/changes/open_change_log.ts";
import { openLog, readOn, runtime } from "../conformance/change_log_support.ts";
import { everyEngine } from "../support/engines.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { runScript } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const secret = "sixteen or more characters";

interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any -- the body of a response
  readonly body: any;
  readonly etag: string | null;
}

type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

async function withViews(
  db: Database,
  work: (send: Send, tables: readonly TableInfo[]) => Promise<void>,
  { keys = {}, auth }: {
    readonly keys?: Readonly<Record<string, readonly string[]>>;
    readonly auth?: (table: TableInfo) => NonNullable<ResourceDefinition["options"]["auth"]>;
  } = {},
): Promise<void> {
  const { tables } = await db.introspect({ keys });
  const open = { public: { read: true }, ...everything };
  const app = await createApp({
    db,
    secret,
    auth: { middleware: (c, next) => (c.set("user", { id: "ada" }), next()) },
    resources: tables.map((table) =>
      resource(table, {
        id: table.primaryKey.map(({ name }) => name),
        auth: auth?.(table) ?? open,
        capabilities: { enableSubscribe: false },
        strictInput: true,
        etag: {},
      })
    ),
  });
  try {
    await work(async (method, path, body, headers = {}) => {
      const response = await app.fetch(
        new Request(`http://localhost/api/${path}`, {
          method,
          headers: { "content-type": "application/json", ...headers },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      );
      const text = await response.text();
      const { status } = response;
      const etag = response.headers.get("etag");
      return { status, etag, body: text === "" ? null : JSON.parse(text) };
    }, tables);
  } finally {
    await app.close();
  }
}

const everything = {
  create: () => all(),
  update: () => all(),
  delete: () => all(),
};

const tables = `
CREATE TABLE person (id integer PRIMARY KEY, name text NOT NULL, age integer NOT NULL, note text);
INSERT INTO person VALUES (1, 'Ann', 40, 'a'), (2, 'Bob', 12, 'b'), (3, 'Cid', 30, NULL);
CREATE VIEW adult AS SELECT id, name, age FROM person WHERE age >= 18;
CREATE VIEW totals AS SELECT age / 10 * 10 AS decade, count(*) AS people FROM person GROUP BY 1;
`;

const sqliteTriggers = `
CREATE TRIGGER adult_new INSTEAD OF INSERT ON adult BEGIN
  INSERT INTO person (id, name, age) VALUES (NEW.id, upper(NEW.name), coalesce(NEW.age, 18)); END;
CREATE TRIGGER adult_changed INSTEAD OF UPDATE ON adult BEGIN
  UPDATE person SET name = upper(NEW.name), age = NEW.age WHERE id = OLD.id; END;
CREATE TRIGGER adult_gone INSTEAD OF DELETE ON adult BEGIN
  DELETE FROM person WHERE id = OLD.id; END;
`;

const postgresTriggers = `
CREATE FUNCTION adult_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO person (id, name, age)
      VALUES (coalesce(NEW.id, 100), upper(NEW.name), coalesce(NEW.age, 18)) RETURNING id INTO NEW.id;
    RETURN NEW;
  ELSIF TG_OP = 'UPDATE' THEN
    UPDATE person SET name = upper(NEW.name), age = NEW.age WHERE id = OLD.id;
    RETURN NEW;
  END IF;
  DELETE FROM person WHERE id = OLD.id;
  RETURN OLD;
END $$;
CREATE TRIGGER adult_write INSTEAD OF INSERT OR UPDATE OR DELETE ON adult
  FOR EACH ROW EXECUTE FUNCTION adult_write();
`;

for (const engine of everyEngine) {
  testUnless(
    engine.ignore ?? null,
    `INSTEAD OF triggers make a view writable (${engine.name})`,
    async () => {
      const db = await engine.open();
      const isPostgres = db.dialect.engine === "postgres";
      await runScript(db.driver, tables + (isPostgres ? postgresTriggers : sqliteTriggers));
      await withViews(db, async (send) => {
        // The response contains the row as the view shows it, and not as the trigger received it.
        const created = await send("POST", "adult", { id: 4, name: "dora" });
        assertEquals([created.status, created.body], [201, { id: 4, name: "DORA", age: 18 }]);
        const { etag } = await send("GET", "adult/4");
        const patched = await send("PATCH", "adult/4", { name: "eve" }, { "if-match": etag ?? "" });
        assertEquals([patched.status, patched.body], [200, { id: 4, name: "EVE", age: 18 }]);
        const stale = await send("PATCH", "adult/4", { name: "fay" }, { "if-match": etag ?? "" });
        assertEquals(stale.status, 412);
        assertEquals((await send("PUT", "adult/4", { name: "gil", age: 50 })).body, {
          ...{ id: 4, name: "GIL", age: 50 },
        });
        assertEquals(
          (await send("PATCH", "adult/batch", { filter: "age>=40", patch: { age: 41 } })).body,
          {
            count: 2,
          },
        );
        assertEquals((await send("DELETE", "adult/4")).status, 204);
        assertEquals((await send("DELETE", "adult/4")).status, 404);
        assertEquals((await send("DELETE", "adult/batch", { filter: "age==41" })).body, {
          count: 1,
        });
        assertEquals((await send("GET", "person?select=id")).body.items, [{ id: 2 }, { id: 3 }]);
        // A row that leaves the view: the write succeeds, and the row is not in the view any more.
        const left = await send("PATCH", "adult/3", { age: 3 });
        assertEquals([left.status, left.body.age], [200, 3]);
        assertEquals((await send("GET", "adult/3")).status, 404);
        const batch = await send("POST", "adult/batch", {
          items: [{ id: 7, name: "x", age: 70 }, { id: 8, name: "y", age: 80 }],
        });
        assertEquals([batch.status, batch.body], [201, {
          items: [{ id: 7, name: "X", age: 70 }, { id: 8, name: "Y", age: 80 }],
        }]);
        const keyless = await send("POST", "adult", { name: "zoe", age: 20 });
        assertEquals(
          [keyless.status, keyless.body.id ?? null],
          isPostgres ? [201, 100] : [422, null],
        );
        // Without triggers for it, the view of groups accepts no writes.
        assertEquals((await send("POST", "totals", { decade: 1 })).status, 405);
      });
    },
  );
}

const postgresViews = `
CREATE TABLE person (id integer GENERATED BY DEFAULT AS IDENTITY (START 10) PRIMARY KEY,
  name text NOT NULL, age integer NOT NULL DEFAULT 18, kind text CHECK (kind IN ('a', 'b')),
  double integer GENERATED ALWAYS AS (age * 2) STORED);
INSERT INTO person (id, name, age) VALUES (1, 'Ann', 40), (2, 'Bob', 12), (3, 'Cid', 30);
CREATE VIEW adult AS SELECT id, name, age, kind, double, age * 10 AS tenfold FROM person WHERE age >= 18
  WITH CHECK OPTION;
CREATE VIEW "of adult" AS SELECT name AS "The Name", id FROM adult;
CREATE VIEW ruled AS SELECT id, name FROM person;
CREATE RULE r AS ON UPDATE TO ruled DO INSTEAD NOTHING;
CREATE VIEW of_ruled AS SELECT id, name FROM ruled;
CREATE VIEW grouped AS SELECT age, count(*) AS people FROM person GROUP BY age;
CREATE VIEW named AS SELECT left(name, 1) AS letter, name, id AS person FROM person;
CREATE VIEW pairs AS SELECT a.id, a.name, b.name AS other FROM person a JOIN person b ON b.id = a.id;
CREATE FUNCTION grouped_gone() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN DELETE FROM person WHERE age = OLD.age; RETURN OLD; END $$;
CREATE TRIGGER gone INSTEAD OF DELETE ON grouped FOR EACH ROW EXECUTE FUNCTION grouped_gone();
CREATE FUNCTION named_gone() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN DELETE FROM person WHERE id = OLD.person; RETURN OLD; END $$;
CREATE TRIGGER gone INSTEAD OF DELETE ON named FOR EACH ROW EXECUTE FUNCTION named_gone();
CREATE FUNCTION pair_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN UPDATE person SET name = NEW.name WHERE id = OLD.id; RETURN NEW; END $$;
CREATE TRIGGER changed INSTEAD OF UPDATE ON pairs FOR EACH ROW EXECUTE FUNCTION pair_changed();
`;

testOnPostgres(
  "a view that Postgres can update is writable by the rules of its table",
  async (url) => {
    const db = await openDatabase(url);
    await runScript(db.driver, postgresViews);
    await withViews(db, async (send, tables) => {
      const writes = tables.flatMap(({ name, view, readOnly }) =>
        view === null ? [] : [[name, readOnly ? "" : Object.values(view).map(Number).join("")]]
      );
      assertEquals(Object.fromEntries(writes), {
        // insert, update, delete, by triggers, with locks
        adult: "11101",
        "of adult": "11101",
        ...{ ruled: "", of_ruled: "", grouped: "00110", named: "11111", pairs: "01011" },
      });
      const created = await send("POST", "adult", { name: "Dora" });
      assertEquals([created.status, created.body], [201, {
        ...{ id: 10, name: "Dora", age: 18, kind: null, double: 36, tenfold: 180 },
      }]);
      assertEquals((await send("POST", "adult", {})).body.details.errors, [
        { path: "name", message: "is required" },
      ]);
      // As in a generated column, a body may contain the value of an expression, which has no effect.
      const ignored = await send("PATCH", "adult/10", { kind: "a", tenfold: 1 });
      assertEquals([ignored.body.kind, ignored.body.tenfold], ["a", 180]);
      assertEquals(
        (await send("POST", "adult", { name: "x", kind: "c" })).body.details.errors.length,
        1,
      );
      // WITH CHECK OPTION
      const outside = await send("POST", "adult", { name: "Kid", age: 3 });
      assertEquals([outside.status, outside.body.type.split("/").at(-1)], [
        422,
        "validation-error",
      ]);
      assertEquals((await send("PATCH", "adult/1", { age: 3 })).status, 422);
      assertEquals((await send("PATCH", "of%20adult/1", { "The Name": "Amy" })).body, {
        ...{ "The Name": "Amy", id: 1 },
      });
      assertEquals((await send("GET", "person/1")).body.name, "Amy");
      const { etag } = await send("GET", "of%20adult/1");
      await send("PATCH", "person/1", { name: "Ava" });
      const late = await send("DELETE", "of%20adult/1", undefined, { "if-match": etag ?? "" });
      assertEquals(late.status, 412);
      assertEquals((await send("DELETE", "adult/2")).status, 404);
      assertEquals((await send("DELETE", "adult/10")).status, 204);
      assertEquals((await send("PATCH", "of_ruled/1", { name: "x" })).status, 405);
      // The rows of a view with GROUP BY cannot be locked, so they have no ETags.
      const group = await send("GET", "grouped/30");
      assertEquals([group.status, group.etag], [200, null]);
      assertEquals((await send("PATCH", "grouped/30", { people: 1 })).status, 405);
      assertEquals((await send("DELETE", "grouped/30")).status, 204);
      assertEquals((await send("GET", "person/3")).status, 404);
    }, { keys: { grouped: ["age"], pairs: ["id"], named: ["letter"] } });
  },
);

testOnPostgres("a write whose trigger returns no key says what was written", async (url) => {
  const db = await openDatabase(url);
  await runScript(
    db.driver,
    `CREATE TABLE person (id integer PRIMARY KEY, name text);
INSERT INTO person VALUES (1, 'Ada');
CREATE VIEW people AS SELECT id, upper(name) AS name FROM person;
CREATE FUNCTION keyless() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.id := NULL; RETURN NEW; END $$;
CREATE TRIGGER keyless INSTEAD OF INSERT OR UPDATE ON people FOR EACH ROW EXECUTE FUNCTION keyless();`,
  );
  await withViews(db, async (send) => {
    const detail = async (method: string, path: string, body: unknown) => {
      const answer = await send(method, path, body);
      return [answer.status, answer.body.detail];
    };
    assertEquals(await detail("POST", "people", { id: 2, name: "x" }), [
      422,
      "Cannot create: id is required, as the trigger of the view does not set it",
    ]);
    const updated = [422, "Cannot update: the trigger of the view returns no id"];
    assertEquals(await detail("PATCH", "people/1", { name: "x" }), updated);
    assertEquals(await detail("PUT", "people/1", { name: "x" }), updated);
  }, { keys: { people: ["id"] } });
});

testOnPostgres("of two writes with one ETag to a view with triggers, one succeeds", async (url) => {
  const db = await openDatabase(url);
  await runScript(db.driver, postgresViews);
  await withViews(db, async (send) => {
    for (let round = 0; round < 20; round++) {
      const { etag } = await send("GET", "pairs/1");
      const answers = await Promise.all(
        [1, 2, 3, 4].map((n) =>
          send("PATCH", "pairs/1", { name: `${round} ${n}` }, { "if-match": etag ?? "" })
        ),
      );
      assertEquals(answers.map(({ status }) => status).sort(), [200, 412, 412, 412]);
      const won = answers.find(({ status }) => status === 200);
      assertEquals(won?.body.name, (await send("GET", "person/1")).body.name);
    }
  }, { keys: { pairs: ["id"] } });
});

testOnPostgres("a write of one row changes no second row with the key", async (url) => {
  const db = await openDatabase(url);
  await runScript(db.driver, postgresViews);
  await withViews(db, async (send) => {
    await send("POST", "person", { id: 4, name: "Art" });
    const shared = await send("DELETE", "named/A");
    assertEquals([shared.status, shared.body.detail], [
      409,
      "Cannot delete: several rows of the view have this key",
    ]);
    assertEquals((await send("PATCH", "named/A", { name: "x" })).status, 409);
    assertEquals((await send("GET", "person/count")).body, { count: 4 });
    assertEquals((await send("DELETE", "named/B")).status, 204);
  }, { keys: { named: ["letter"] } });
  const again = await openDatabase(url);
  try {
    const { tables } = await again.introspect({ keys: { named: ["letter"] } });
    assertEquals(tables.find(({ name }) => name === "named")?.readOnly, true);
  } finally {
    await again.close();
  }
});

testOnPostgres("scopes restrict the writes of a view", async (url) => {
  const db = await openDatabase(url);
  await runScript(db.driver, postgresViews);
  await withViews(db, async (send) => {
    assertEquals((await send("GET", "adult/3")).status, 404);
    assertEquals((await send("PATCH", "adult/3", { name: "x" })).status, 404);
    assertEquals((await send("PATCH", "adult/1", { age: 20 })).status, 403);
    assertEquals((await send("POST", "adult", { name: "x", age: 20 })).status, 403);
    assertEquals((await send("POST", "adult", { name: "x", age: 50 })).status, 201);
    assertEquals((await send("GET", "adult/count")).body, { count: 2 });
  }, {
    auth: (table) => {
      const old = () => table.byName.has("age") ? rsql`age>35` : all();
      return { read: old, create: old, update: old, delete: old };
    },
  });
});

testOnPostgres("a write to a view notifies the streams of its table", async (url) => {
  const plain = await openDatabase(url);
  await runScript(plain.driver, postgresViews);
  const { tables } = await plain.introspect();
  const recorded = tables.filter(({ recordable }) => recordable);
  const changes = resolveChangesOptions({ mode: "service" });
  const options = { driver: plain.driver, tables: recorded, changes, random: runtime.random };
  const driver = await openRecordingDriver(options);
  const log = await openLog(plain, recorded, { mode: "service" });
  await withViews({ ...plain, driver }, async (send) => {
    const writes = {
      "adult/1": ["PATCH", { name: "Amy" }],
      "pairs/1": ["PATCH", { name: "Ava" }],
      "of%20adult/1": ["DELETE", undefined],
    } as const;
    for (const [path, [method, body]] of Object.entries(writes)) {
      const from = await log.end();
      assertEquals([path, (await send(method, path, body)).status < 300], [path, true]);
      const { changes } = await readOn(log, from);
      assertEquals(changes.map(({ table, kind }) => [table.name, kind]), [["person", "touch"]]);
    }
    await log.close();
  }, { keys: { pairs: ["id"] } });
});
