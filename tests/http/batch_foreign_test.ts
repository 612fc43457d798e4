import { assertEquals } from "@std/assert";
import { all, createApp, resource } from "../../mod.ts";
import { runScript } from "../support/scratch.ts";
import { testOnEngines } from "../support/http.ts";
import { recorded, some } from "./batch_support.ts";

// Keys and values that the database generates, and types without a kind.
const script = {
  sqlite: `CREATE TABLE coupons (
      code TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(8)))), worth INTEGER);
    CREATE TABLE jobs (
      id INTEGER PRIMARY KEY, size SMALLINT, state TEXT NOT NULL DEFAULT ('ne' || 'w'));`,
  postgres: `CREATE TYPE state AS ENUM ('new', 'done');
    CREATE TABLE coupons (code uuid PRIMARY KEY DEFAULT gen_random_uuid(), worth int);
    CREATE TABLE jobs (
      id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, size smallint,
      state state NOT NULL DEFAULT 'new');`,
};

testOnEngines(
  "a batch over an existing table maps rows to items",
  async (engine) => {
    const db = await engine.open();
    try {
      await runScript(db.driver, script[db.dialect.engine]);
      const statements: string[] = [];
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        auth: {
          middleware: async (context, next) => {
            context.set("user", { id: "ada" });
            await next();
          },
        },
        resources: (await db.introspect()).tables.map((table) =>
          resource<Record<string, unknown>, unknown>(table, {
            id: table.name === "jobs" ? "id" : "code",
            db: recorded(db, statements),
            auth: { public: { read: true }, create: () => all(), update: () => all() },
          })
        ),
      });
      // The statements of the start.
      statements.length = 0;
      const send = async (method: string, path: string, items: unknown) => {
        const request = new Request(`http://test/api/${path}`, {
          method,
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ items }),
        });
        const answer = await app.fetch(request);
        return { status: answer.status, body: await answer.json() };
      };
      const coupons = await send("POST", "coupons/batch", some(20, (worth) => ({ worth })));
      const worths = coupons.body.items.map((row: { worth: number }) => row.worth);
      assertEquals(worths, some(20, Number));
      assertEquals(statements.splice(0).length, 20);

      const items = some(20, (n) => n % 2 ? { size: n } : { size: n, state: "done" });
      const jobs = await send("POST", "jobs/batch", items);
      assertEquals(
        jobs.body.items,
        items.map((item, index) => ({
          id: index + 1,
          state: "new",
          ...item,
        })),
      );
      assertEquals(statements.splice(0).length, 1);
      const changed = some(2, (id) => ({ id, state: "done", size: 0 }));
      assertEquals((await send("POST", "jobs/batch/upsert", changed)).body.items, changed);
      const reset = await send("PUT", "jobs/batch", [{ id: 1 }]);
      assertEquals(reset.body.items, [{ id: 1, size: null, state: "new" }]);
      const fresh = await send("POST", "jobs/batch/upsert", [{ id: 99, size: 1 }]);
      // An identity that is always generated takes no value, so that no new row can have this key.
      assertEquals(fresh.status, db.dialect.engine === "postgres" ? 422 : 200);
    } finally {
      await db.close();
    }
  },
);
