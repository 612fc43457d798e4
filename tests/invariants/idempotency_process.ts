/** The service of the idempotency kill test: it kills itself around a commit. */
import { createApp } from "../../src/app/app.ts";
import type { Driver } from "../../src/db/driver.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { all } from "../../src/filter/builders.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";

const [url = "", killAt = "never", aheadMs = "0"] = Deno.args;

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const db = await openDatabase(url);
await db.createTables([notes]);

function kill(): Promise<never> {
  Deno.kill(Deno.pid, "SIGKILL");
  // Until it has arrived.
  return new Promise(() => {});
}

/** The driver itself, but for the transactions of creates. */
const killing: Driver = new Proxy(db.driver, {
  get(driver, name) {
    if (name === "transaction") return transaction;
    const value: unknown = Reflect.get(driver, name);
    return typeof value === "function" ? value.bind(driver) : value;
  },
});

async function transaction<T>(work: Parameters<typeof db.driver.transaction<T>>[0]): Promise<T> {
  let isCreate = false;
  const result = await db.driver.transaction<T>((connection) =>
    work({
      async query(statement) {
        if (/^INSERT INTO "notes"/.test(statement.text)) isCreate = true;
        const found = await connection.query(statement);
        if (isCreate && killAt === statement.text.split(" ", 1)[0]) await kill();
        return found;
      },
    })
  );
  if (isCreate && killAt === "commit") await kill();
  return result;
}

const system = systemRuntime((observation) => console.error(Deno.inspect(observation)));
const now = () => Date.now() + Number(aheadMs);
const app = await createApp({
  db: { ...db, driver: killing },
  secret: "a secret for the tests only",
  idempotency: { storage: "db" },
  auth: {
    middleware: async (context, next) => {
      context.set("user", { id: "ada" });
      await next();
    },
  },
  runtime: { ...system, clock: { ...system.clock, now } },
  resources: [resource(notes, { id: notes.id, auth: { create: () => all() } })],
});

Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(`port ${port}`),
}, (request) => app.fetch(request));
