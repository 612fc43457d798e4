import { type App, createApp } from "../../../src/app/app.ts";
import { openDatabase } from "../../../src/engines/open_database.ts";
import { all } from "../../../src/filter/builders.ts";
import { resource } from "../../../src/resource/define/resource_definition.ts";
import { integer, text, uuid } from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { run } from "../../support/scratch.ts";
import type { Database } from "../../../src/db/database.ts";

/** What the clients of the model write to: each write sets a stamp that no other one has. */
export const notes = table("notes", {
  id: uuid().primaryKey(),
  title: text(),
  rank: integer(),
  stamp: text(),
  version: integer().notNull().default(1),
});

/**
 * Creates the table and an audit of it, which the database itself writes: a row for each write that
 * was carried out, by the stamp that the write has set.
 */
export async function createModelTables(url: string): Promise<void> {
  const db = await openDatabase(url);
  await db.createTables([notes]);
  await run(db, "CREATE TABLE audit (stamp TEXT, op TEXT)");
  for (const [op, row] of [["insert", "new"], ["update", "new"], ["delete", "old"]]) {
    const stamp = op === "delete" ? "old.id" : `${row}.stamp`;
    await run(
      db,
      `CREATE TRIGGER audit_${op} AFTER ${op} ON notes BEGIN
         INSERT INTO audit VALUES (${stamp}, '${op}');
       END`,
    );
  }
  await db.close();
}

/** The service of the model over a database that {@link createModelTables} has prepared. */
export async function openModelApp(url: string): Promise<{ db: Database; app: App }> {
  const db = await openDatabase(url);
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    idempotency: { storage: "db" },
    runtime: fastRuntime(),
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: context.req.header("x-user") ?? "nobody" });
        await next();
      },
    },
    subscribe: { maxPerUser: 1_000, maxPerAddress: 1_000 },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: {
          ...{ read: () => all(), subscribe: () => all(), create: () => all() },
          ...{ update: () => all(), delete: () => all() },
        },
        etag: { versionField: notes.version },
        generatedFields: [notes.id],
        pagination: { maxLimit: 10_000 },
      }),
    ],
  });
  return { db, app };
}

/**
 * Time passes faster for the service as well: what a process that is killed has claimed, and the
 * pauses that it asks for, would take most of a run.
 */
function fastRuntime(): Runtime {
  // Requests that the end of a service has broken are what the model makes, and nothing to report.
  const runtime = systemRuntime(() => {});
  const { clock } = runtime;
  return {
    ...runtime,
    clock: {
      now: () => clock.now() * timeFactor,
      elapsedMs: () => clock.elapsedMs() * timeFactor,
      after: (delayMs, work) => clock.after(delayMs / timeFactor, work),
    },
  };
}

/** So much faster time passes for services and clients. */
export const timeFactor = 40;
