import { assertEquals } from "@std/assert";
import { all, resource } from "../../mod.ts";
import { createDrizzleTables, type DrizzleLine, drizzleLines } from "../support/drizzle_schema.ts";
import { testOnDialects, withService } from "../support/http.ts";

/** Custom types as projects write them, with conversions that keep or change the stored value. */
function customTable({ sqlite, pg }: DrizzleLine, isSqlite: boolean) {
  // Both engines have what is used here.
  const d = isSqlite ? sqlite : pg as unknown as typeof sqlite;
  const make = isSqlite ? sqlite.sqliteTable : pg.pgTable as unknown as typeof sqlite.sqliteTable;
  const casted = d.customType<{ data: number; driverData: string }>({
    dataType: () => "numeric",
    fromDriver: (value) => Number.parseFloat(value),
    toDriver: (value) => value.toString(),
  });
  const parsed = d.customType<{ data: number[] }>({
    dataType: () => isSqlite ? "text" : "jsonb",
    fromDriver: (value) => typeof value === "string" ? JSON.parse(value) : value,
    toDriver: (value) => JSON.stringify(value),
  });
  const trimmed = d.customType<{ data: string }>({
    dataType: () => "text",
    toDriver: (value) => value.trim(),
  });
  const cents = d.customType<{ data: number; driverData: number }>({
    dataType: () => "integer",
    fromDriver: (value) => value / 100,
    toDriver: (value) => value * 100,
  });
  const secret = d.customType<{ data: string; driverData: string }>({
    dataType: () => "text",
    fromDriver: (value) => [...value].reverse().join(""),
    toDriver: (value) => [...value].reverse().join(""),
  });
  return make("sales", {
    id: d.integer().primaryKey(),
    amount: casted("amount").notNull().default(5),
    name: trimmed("name"),
    parsed: parsed("parsed"),
    cents: cents("cents").default(12),
    secret: secret("secret").$defaultFn(() => "abc"),
  });
}

testOnDialects(
  "custom types of Drizzle with conversions are their stored values",
  async (engine) => {
    const isSqlite = engine.name !== "postgres";
    for (const line of drizzleLines) {
      const sales = customTable(line, isSqlite);
      const open = async () => {
        const db = await engine.open();
        await createDrizzleTables(db, line, [sales]);
        return db;
      };
      const auth = {
        public: true,
        subscribe: () => all(),
        create: () => all(),
        update: () => all(),
      };
      const explicit = {
        readable: [sales.id, sales.secret, sales.cents],
        writable: [sales.secret],
      };
      await withService({ ...engine, open }, [], () => ({
        resources: [
          resource(sales, { id: sales.id, auth }),
          resource(sales, {
            ...{ id: sales.id, path: "stored", auth, fields: explicit },
          }),
        ],
      }), async ({ send, get, subscribe, db }) => {
        const ada = { "x-user": "ada" };
        const more = isSqlite ? {} : { parsed: [1, 2] };
        const first = { id: 1, amount: 5, name: null, ...(isSqlite ? {} : { parsed: null }) };
        assertEquals((await send("POST", "/api/sales", { id: 1 }, ada)).body, first);
        const stream = await subscribe(
          "/api/sales/subscribe?filter=amount>9&select=id,amount",
          ada,
        );
        assertEquals((await stream.untilSynced())[0]?.data.items, []);
        const second = { id: 2, amount: 10.25, name: "n", ...more };
        assertEquals((await send("POST", "/api/sales", second, ada)).body, second);
        assertEquals((await get("/api/sales/2")).body, second);
        assertEquals((await get("/api/sales/count?filter=amount==10.25")).body, { count: 1 });
        const page = await get("/api/sales?orderBy=-amount&limit=1&select=id");
        assertEquals(page.body.items, [{ id: 2 }]);
        const next = await get(
          `/api/sales?orderBy=-amount&limit=1&select=id&cursor=${page.body.nextCursor}`,
        );
        assertEquals(next.body.items, [{ id: 1 }]);
        assertEquals((await get("/api/sales?filter=secret==cba")).status, 400);
        assertEquals((await send("PATCH", "/api/sales/1", { secret: "x" }, ada)).body, first);
        // A default of Drizzle is stored as Drizzle stores it.
        assertEquals((await get("/api/stored/1")).body, { id: 1, secret: "cba", cents: 1200 });
        const named = await send("PATCH", "/api/stored/1", { secret: "x" }, ada);
        assertEquals(named.body, { id: 1, secret: "x", cents: 1200 });
        const { rows } = await db.query({
          text: "SELECT secret FROM sales WHERE id = 2",
          values: [],
        });
        assertEquals(rows, [["cba"]]);
        const [added] = await stream.take(1);
        assertEquals(added?.type, "added");
        assertEquals(added?.data.item, { id: 2, amount: 10.25 });
        await stream.close();
      });
    }
  },
);
