/**
 * The process of the tests of disconnecting clients: one stream may be open at a time, of `quiet`
 * rows or of `large` ones. The argument selects the listener: the service's own, a plain
 * `Deno.serve`, or one that reports nothing of the connection to the app.
 */
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { listen } from "../../src/listen/listener.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { consoleObserver } from "../../src/runtime/console_observer.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";

const columns = { id: integer().primaryKey(), body: text().notNull() };
const quiet = table("quiet", columns);
const large = table("large", columns);
const runtime = systemRuntime(consoleObserver({ format: "json" }));
const db = await openDatabase("sqlite::memory:");
await db.createTables([quiet, large]);
await db.driver.query({
  // More than the socket buffers hold.
  text: `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
         INSERT INTO large SELECT i, hex(zeroblob(50000)) FROM n`,
  values: [],
});
const shared = { id: quiet.id, auth: { public: { subscribe: true } } };
const app = await createApp({
  db,
  runtime,
  secret: "a secret for the tests only",
  subscribe: { maxPerAddress: 1 },
  resources: [resource(quiet, shared), resource(large, { ...shared, id: large.id })],
});
const onListen = ({ port }: { readonly port: number }) => console.log(`port ${port}`);
const plain = { port: 0, hostname: "127.0.0.1", onListen };

/** A middleware that drops the response it was given. */
async function dropping(request: Request, info: Deno.ServeHandlerInfo): Promise<Response> {
  const answer = await app.fetch(request, info);
  return answer.status === 200 && request.url.includes("drop") ? new Response("another") : answer;
}

switch (Deno.args[0]) {
  case "service":
    listen({ ...app, fetch: dropping }, { port: 0, onListen }, runtime);
    break;
  case "mounted":
    Deno.serve(plain, dropping);
    break;
  case "untold":
    Deno.serve(plain, (request) => app.fetch(request));
    break;
}
