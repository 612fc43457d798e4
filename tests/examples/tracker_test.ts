import { assertEquals } from "@std/assert";
import * as drizzlePostgres from "../../examples/tracker/drizzle_postgres.ts";
import * as drizzleSqlite from "../../examples/tracker/drizzle_sqlite.ts";
import { type Tables, trackerService } from "../../examples/tracker/service.ts";
import * as declared from "../../examples/tracker/tables.ts";
import { createApp, type Database } from "../../mod.ts";
import { createDrizzleTables, drizzleLines } from "../support/drizzle_schema.ts";
import { type Engine, engines } from "../support/engines.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { drive, type Step } from "./tracker_drive.ts";

const [, line] = drizzleLines;

/** The tracker by its tables, and how these come into a database. */
interface Variant {
  readonly name: string;
  readonly engine: Engine;
  readonly tables: Tables;
  create(db: Database): Promise<void>;
}

function variantsOf(engine: Engine): readonly Variant[] {
  const drizzle = engine.name === "postgres" ? drizzlePostgres : drizzleSqlite;
  return [
    {
      name: `table() on ${engine.name}`,
      engine,
      tables: declared,
      create: (db) => db.createTables(Object.values(declared)),
    },
    {
      name: `Drizzle on ${engine.name}`,
      engine,
      // The service is written once, with the types of `table()`.
      tables: drizzle as unknown as Tables,
      async create(db) {
        const { users, teams, memberships, projects, issues, comments, labels } = drizzle;
        const tables = [users, teams, memberships, projects, issues, comments, labels];
        if (line === undefined) throw new Error("There is no newer line of Drizzle");
        await createDrizzleTables(db, line, [...tables, drizzle.issueLabels]);
      },
    },
  ];
}

Deno.test("the tracker answers the same by table() and by Drizzle, on SQLite and on Postgres", async () => {
  const dialects = engines.filter(({ name, ignore }) =>
    ignore === undefined && (name === "better-sqlite3" || name === "postgres")
  );
  let expected: readonly Step[] | null = null;
  const statuses = [
    ...[201, 201, 201, 201, 201, 201, 201, 201, 201, 201, 200, 412, 200, 200, 409],
    ...[200, 409, 204, 204, 200, 200, 200, 200, 200, 200, 200, 404, 200, 200, 200],
    ...[400, 422, 404, 403, 422, 400, 200],
  ];
  for (const { name, engine, tables, create } of dialects.flatMap(variantsOf)) {
    const db = await engine.open();
    await create(db);
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: { ...systemRuntime(() => {}), cron: undefined },
      auth: {
        middleware: async (context, next) => {
          const id = context.req.header("x-user");
          if (id !== undefined) context.set("user", { id });
          await next();
        },
      },
      ...trackerService(tables),
    });
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, app.fetch);
    try {
      const steps = await drive(`http://127.0.0.1:${server.addr.port}`);
      expected ??= steps;
      steps.forEach((step, index) =>
        assertEquals(step, expected?.[index], `${name}, step ${index}`)
      );
      assertEquals(steps.map(([, status]) => status), statuses);
    } finally {
      await server.shutdown();
      await app.close();
      await db.close();
    }
  }
});
