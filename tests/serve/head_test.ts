import { assert, assertEquals } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { listen } from "../../src/listen/listener.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { insertRows } from "../support/http.ts";

const things = table("things", { id: text().primaryKey() });

/** The raw head of the answer to a request, because an HTTP client would interpret it. */
async function headOf(
  port: number,
  method: string,
  path: string,
  accept = "*/*",
): Promise<string[]> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const request = `${method} ${path} HTTP/1.1\r\nhost: x\r\naccept: ${accept}\r\n` +
    "connection: close\r\n\r\n";
  await connection.write(new TextEncoder().encode(request));
  const answer = await new Response(connection.readable).text();
  const [head = "", body] = answer.split("\r\n\r\n");
  if (method === "HEAD") assertEquals(body, "");
  return head.split("\r\n").filter((line) => !line.startsWith("date:")).sort();
}

Deno.test("HEAD answers with the headers of GET, the length of its body among them", async () => {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([things]);
  await insertRows(db, things, [{ id: "é" }]);
  const runtime = systemRuntime(() => {});
  const app = await createApp({
    db,
    runtime,
    secret: "sixteen or more characters",
    resources: [
      resource(things, {
        id: things.id,
        auth: { public: { read: true } },
        capabilities: { enableExport: true },
      }),
    ],
  });
  const server = listen(app, { port: 0 }, runtime);
  for (
    const path of [
      "/api/things",
      "/api/things/%C3%A9",
      "/api/things/absent",
      "/api/things/count",
      "/healthz",
      "/__service/problems/",
    ]
  ) {
    const [head, get] = await Promise.all([
      headOf(server.port, "HEAD", path),
      headOf(server.port, "GET", path),
    ]);
    assertEquals(head, get, path);
    assert(head.some((line) => /^content-length: [1-9]/.test(line)), path);
  }
  for (const accept of ["text/csv", "application/x-ndjson"]) {
    const head = await headOf(server.port, "HEAD", "/api/things", accept);
    const get = await headOf(server.port, "GET", "/api/things", accept);
    // The length of an export is unknown before its end: HEAD must not say 0.
    assertEquals(head, get.filter((line) => !line.startsWith("transfer-encoding:")), accept);
  }
  await server.stop();
});
