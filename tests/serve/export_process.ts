/** The process of the tests of exports: two resources, one with a database that fails. */
import { createApp } from "../../src/app/app.ts";
import { DatabaseError } from "../../src/db/database_error.ts";
import type { Connection } from "../../src/db/driver.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { listen, type Listenable } from "../../src/listen/listener.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { consoleObserver } from "../../src/runtime/console_observer.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { Database } from "../../src/db/database.ts";

const rows = table("rows", { id: integer().primaryKey(), body: text().notNull() });
const runtime = systemRuntime(consoleObserver({ format: "json" }));
const db = await openDatabase("sqlite::memory:");
await db.createTables([rows]);
await db.driver.query({
  text: `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
         INSERT INTO rows SELECT i, hex(zeroblob(150)) FROM n`,
  values: [],
});
const shared = {
  id: rows.id,
  auth: { public: { read: true } },
  capabilities: { enableExport: true },
};
const app = await createApp({
  db,
  runtime,
  secret: "a secret for the tests only",
  resources: [
    resource(rows, shared),
    resource(rows, { ...shared, path: "broken", db: breaking(db) }),
  ],
});
const watching: Listenable = {
  async fetch(request) {
    const response = await app.fetch(request);
    if (response.headers.get("content-type")?.startsWith("text/csv") !== true) return response;
    return new Response(response.body && ReadableStream.from(watched(response.body)), response);
  },
  drain: app.drain,
  close: app.close,
};
const server = listen(watching, {
  port: 0,
  onListen: ({ url }) => console.log(`url ${url}`),
}, runtime);
Deno.addSignalListener("SIGTERM", () => server.stop());
await server.finished;
Deno.exit(0);

/** Logs when the body has ended, whichever way. */
async function* watched(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pages = 0;
  try {
    for await (const page of body) {
      pages++;
      yield page;
    }
  } finally {
    console.log(`ended after ${pages} pages`);
  }
}

/** Fails at every page of 512 rows, which are the pages after the second. */
function breaking({ driver, ...rest }: Database): Database {
  const broken = (connection: Connection): Connection => ({
    query: (statement) =>
      statement.text.endsWith("LIMIT 512")
        ? Promise.reject(new DatabaseError("unavailable", new Error("it is gone")))
        : connection.query(statement),
  });
  return {
    ...rest,
    driver: {
      ...broken(driver),
      dialect: driver.dialect,
      label: driver.label,
      reads: (limits) => broken(driver.reads(limits)),
      transaction: (work) => driver.transaction(work),
      onCommit: (listener) => driver.onCommit(listener),
      isShared: driver.isShared,
      signals: driver.signals,
      close: () => driver.close(),
    },
  };
}
