/** Keys that JSON lacks, and values that only the database can refuse. */
import { assertEquals } from "@std/assert";
import { all, type Database, resource } from "../../mod.ts";
import { type Engine, engines } from "../support/engines.ts";
import { type Service, testOnEngines, userHeader, withService } from "../support/http.ts";
import { run } from "../support/scratch.ts";

const postgres = engines.filter(({ name }) => name === "postgres");

/** Runs `work` against an app over the tables that `setup` makes. */
async function overTables(
  engine: Engine,
  setup: (db: Database) => Promise<unknown>,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  let tables: Awaited<ReturnType<Database["introspect"]>>["tables"] = [];
  const open = async () => {
    const db = await engine.open();
    await setup(db);
    ({ tables } = await db.introspect());
    return db;
  };
  const auth = { public: true, create: all, update: all, delete: all } as const;
  const resources = () =>
    tables.map((table) =>
      resource<Record<string, unknown>>(table, {
        id: table.primaryKey.map(({ name }) => name),
        auth,
      })
    );
  const ada = { [userHeader]: "ada" };
  await withService(
    { ...engine, open },
    [],
    () => ({ resources: resources() }),
    (service) =>
      work({
        ...service,
        get: (path) => service.get(path, ada),
        send: (method, path, body) => service.send(method, path, body, ada),
      }),
  );
}

testOnEngines("a key that JSON lacks is written back as it was read", async (engine) => {
  const keys: Readonly<Record<string, readonly string[]>> = engine.name !== "postgres"
    ? { REAL: ["9e999", "-9e999", "1.5"] }
    : {
      float8: ["'NaN'", "'Infinity'", "'-Infinity'", "1.5"],
      numeric: ["'NaN'", "'Infinity'", "1"],
      date: ["'infinity'", "'0044-03-15 BC'", "'2024-01-05'"],
      timestamptz: ["'-infinity'", "'0044-03-15 12:00Z BC'", "'2024-01-05Z'"],
    };
  for (const [type, values] of Object.entries(keys)) {
    await overTables(engine, async (db) => {
      await run(db, `CREATE TABLE odd (id ${type} PRIMARY KEY, name text)`);
      for (const value of values) await run(db, `INSERT INTO odd VALUES (${value}, 'a')`);
    }, async ({ get, send }) => {
      const { body: { items } } = await get("/api/odd");
      assertEquals(items.length, values.length);
      for (const row of items) {
        const path = `/api/odd/${encodeURIComponent(row.id)}`;
        for (const method of ["PUT", "PATCH"]) {
          const { status, body } = await send(method, path, { ...row, name: method });
          assertEquals([status, body], [200, { ...row, name: method }], type);
        }
        const other = type.endsWith("e") || type.startsWith("t") ? "2000-01-01" : 7;
        assertEquals((await send("PATCH", path, { id: other })).status, 422, type);
      }
      const batch = await send("PUT", "/api/odd/batch", { items });
      assertEquals([batch.status, batch.body.items], [200, items], type);
      const upsert = await send("POST", "/api/odd/batch/upsert", { items });
      assertEquals([upsert.status, upsert.body.items], [200, items], type);
      // A new row may not have such a key.
      const { id } = items.find(({ id }: { id: unknown }) => /nf|N|BC/.test(String(id)));
      await send("DELETE", `/api/odd/${encodeURIComponent(id)}`);
      assertEquals((await send("POST", "/api/odd", { id, name: "b" })).status, 422, type);
      const made = await send("POST", "/api/odd/batch/upsert", { items: [{ id, name: "b" }] });
      assertEquals(made.status, 422, type);
    });
  }
});

testOnEngines("a value that the database refuses names its field", async (engine) => {
  const types: Readonly<Record<string, unknown>> = {
    inet: "zz",
    interval: "zz",
    point: "zz",
    int4range: "[5,1)",
    macaddr: "zz",
    money: "zz",
    "bit(3)": "12",
    time: "25:61",
    "int[]": ["zz"],
    "inet[]": ["10.0.0.1", "zz"],
  };
  const names = Object.keys(types).map((_type, index) => `c${index}`);
  await overTables(engine, async (db) => {
    const columns = Object.keys(types).map((type, index) => `c${index} ${type}`);
    await run(db, `CREATE TABLE typed (id int PRIMARY KEY, ${columns.join(", ")})`);
    await run(db, "INSERT INTO typed (id) VALUES (1)");
  }, async ({ send }) => {
    for (const [index, value] of Object.values(types).entries()) {
      const field = names[index] ?? "";
      const pathOf = async (method: string, path: string, body: unknown) => {
        const { status, body: { details } } = await send(method, path, body);
        return [status, details?.errors?.[0]?.path];
      };
      assertEquals(await pathOf("PATCH", "/api/typed/1", { [field]: value }), [422, field]);
      assertEquals(await pathOf("PUT", "/api/typed/1", { [field]: value }), [422, field]);
      assertEquals(await pathOf("POST", "/api/typed", { id: 2, [field]: value }), [422, field]);
      const items = [{ id: 2 }, { id: 3, [field]: value }];
      for (const path of ["/api/typed/batch", "/api/typed/batch/upsert"]) {
        assertEquals(await pathOf("POST", path, { items }), [422, `items.1.${field}`], path);
      }
    }
  });
}, postgres);

testOnEngines("no row has an id that the database refuses", async (engine) => {
  for (const type of ["inet", "interval", "macaddr", "int4range"]) {
    await overTables(
      engine,
      (db) => run(db, `CREATE TABLE named (id ${type} PRIMARY KEY, name text)`),
      async ({ db, get, send }) => {
        assertEquals((await get("/api/named/zz")).status, 404, type);
        assertEquals((await send("PATCH", "/api/named/zz", { name: "b" })).status, 404, type);
        assertEquals((await send("DELETE", "/api/named/zz")).status, 404, type);
        const item = { id: "zz", name: "b" };
        for (
          const [method, path, body] of [
            ["POST", "", item],
            ["PUT", "/batch", { items: [item] }],
            ["POST", "/batch/upsert", { items: [item] }],
          ] as const
        ) {
          const answer = await send(method, `/api/named${path}`, body);
          assertEquals(answer.status, 422, `${type} ${method} ${path}`);
          assertEquals(answer.body.details.errors[0].path.replace("items.0.", ""), "id");
        }
        await run(db, "DROP TABLE named");
      },
    );
  }
}, postgres);

testOnEngines("a filter on items names the list", async (engine) => {
  await overTables(
    engine,
    (db) => run(db, "CREATE TABLE lists (id int PRIMARY KEY, marks int[])"),
    async ({ get }) => {
      const { status, body } = await get("/api/lists?filter=marks=has=x");
      assertEquals(status, 400);
      assertEquals(body.detail, 'Cannot filter by "marks": "x" must be a whole number');
    },
  );
}, postgres);

testOnEngines(
  "a key that the database generates was dropped from the body of a create",
  async (engine) => {
    await overTables(
      engine,
      (db) =>
        run(
          db,
          `CREATE TABLE numbered (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text,
           loud text GENERATED ALWAYS AS (upper(name)) STORED)`,
        ),
      async ({ send }) => {
        const errorOf = async (path: string, body: unknown) => {
          const { status, body: { details } } = await send("POST", `/api/numbered${path}`, body);
          return [status, details?.errors?.[0]?.path];
        };
        assertEquals(await errorOf("", { id: 7, name: "a" }), [422, "id"]);
        assertEquals(await errorOf("/batch", { items: [{ id: 7 }] }), [422, "items.0.id"]);
        const { body } = await send("POST", "/api/numbered", { id: null, name: "a", loud: "B" });
        assertEquals(body, { id: 1, name: "a", loud: "A" });
        assertEquals((await send("PUT", "/api/numbered/1", body)).status, 200);
        const upsert = { items: [{ id: 1, name: "b" }] };
        assertEquals((await send("POST", "/api/numbered/batch/upsert", upsert)).status, 200);
      },
    );
  },
  postgres,
);

testOnEngines(
  "a row that belongs to no partition names the columns of the partitions",
  async (engine) => {
    await overTables(engine, async (db) => {
      await run(
        db,
        `CREATE TABLE days (id int, day date, name text CHECK (name <> ''), PRIMARY KEY (id, day))
       PARTITION BY RANGE (day)`,
      );
      await run(
        db,
        "CREATE TABLE days_24 PARTITION OF days FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')",
      );
    }, async ({ send }) => {
      const pathsOf = async (body: unknown) => {
        const { status, body: { details } } = await send("POST", "/api/days", body);
        return [status, details?.errors?.map(({ path }: { path: string }) => path)];
      };
      assertEquals(await pathsOf({ id: 1, day: "2030-01-01" }), [422, ["day"]]);
      assertEquals(await pathsOf({ id: 1, day: "2024-01-01", name: "" }), [422, ["name"]]);
      assertEquals((await pathsOf({ id: 1, day: "2024-01-01" }))[0], 201);
    });
  },
  postgres,
);
