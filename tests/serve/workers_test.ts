import { assertEquals, assertNotMatch } from "@std/assert";
import { type App, createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { startDenoServe } from "./deno_serve.ts";

const module = new URL("unsecured_app.ts", import.meta.url).pathname;
const flags = ["--parallel"];
const jobs = { DENO_JOBS: "3" };

/** Uses a cursor from one connection on others, which any worker may answer. */
async function assertCursorsOpen(port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}/api/notes?limit=1`;
  const get = async (url: string) => {
    const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const answer = await fetch(url, { client });
    const body = await answer.json();
    client.close();
    return { status: answer.status, body };
  };
  for (let turn = 0; turn < 12; turn++) {
    const { body } = await get(url);
    assertEquals((await get(`${url}&cursor=${body.nextCursor}`)).status, 200);
  }
}

Deno.test("deno serve --parallel without a secret does not start several workers, and says why", async () => {
  await using server = startDenoServe(module, { flags, env: jobs });
  await server.printed(/worker_refused.*Cannot start several workers.*\(set SERVICE_SECRET\)/);
  // The process ends where its main worker is refused, and otherwise continues with it alone.
  const port = await server.port().catch(() => null);
  if (port !== null) await assertCursorsOpen(port);
});

Deno.test("deno serve --parallel with a secret starts every worker", async () => {
  const env = { ...jobs, SERVICE_SECRET: "sixteen or more characters" };
  await using server = startDenoServe(module, { flags, env });
  await assertCursorsOpen(await server.port());
  assertNotMatch(server.output(), /worker_refused/);
});

Deno.test("apps of one worker need no secret, one after the other or at once", async () => {
  const notes = table("notes", { id: integer().primaryKey() });
  const open = async (): Promise<App> => {
    const db = await openDatabase("sqlite::memory:");
    await db.createTables([notes]);
    const resources = [resource(notes, { id: notes.id, auth: { public: { read: true } } })];
    return await createApp({ db, resources, runtime: systemRuntime(() => {}) });
  };
  const both = [await open(), await open()];
  for (const app of both) await app.close();
  await (await open()).close();
});
