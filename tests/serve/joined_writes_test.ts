import { assert, assertEquals } from "@std/assert";
import { compress } from "@hono/hono/compress";
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { listen } from "../../src/listen/listener.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { Middleware } from "../../src/service/middleware.ts";
import { findProgram } from "../support/debian_packages.ts";
import { insertRows } from "../support/http.ts";
import { testUnless } from "../support/skip.ts";
import { makeCertificates } from "../support/tls_proxy.ts";

const things = table("things", { id: text().primaryKey(), body: text().notNull() });
const long = "ä".repeat(600);

async function startApp(middleware: readonly Middleware[] = []) {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([things]);
  await insertRows(db, things, [{ id: "long", body: long }, { id: "short", body: "" }]);
  const runtime = systemRuntime(() => {});
  const auth = { public: { read: true } };
  const resources = [resource(things, { id: things.id, auth })];
  const secret = "sixteen or more characters";
  return { app: await createApp({ db, runtime, secret, middleware, resources }), runtime };
}

async function rawAnswer(port: number, start: string, headers = ""): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const request = `${start}\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`;
  await connection.write(new TextEncoder().encode(request));
  return await new Response(connection.readable).text();
}

Deno.test("a body that does not fit beside its head cost a second system call", async () => {
  const { app, runtime } = await startApp();
  const server = listen(app, { port: 0 }, runtime);
  const { port } = server;
  const answer = await rawAnswer(port, "GET /api/things/long HTTP/1.1");
  assert(/^transfer-encoding: chunked\r$/m.test(answer), answer);
  assert(!/^content-length:/m.test(answer), answer);
  assertEquals(await (await fetch(`${server.url}/api/things/long`)).json(), {
    id: "long",
    body: long,
  });
  for (
    const [start, length] of [
      ["GET /api/things/short HTTP/1.1", 24],
      ["GET /api/things/long HTTP/1.0", 1223],
      ["HEAD /api/things/long HTTP/1.1", 1223],
    ] as const
  ) {
    const answer = await rawAnswer(port, start);
    assert(new RegExp(`^content-length: ${length}\r$`, "m").test(answer), `${start}\n${answer}`);
    assert(!/^transfer-encoding:/m.test(answer), answer);
  }
  await server.stop();
});

Deno.test("a middleware that compresses still receives a response that it can compress", async () => {
  const { app, runtime } = await startApp([compress({ threshold: 100 })]);
  const server = listen(app, { port: 0 }, runtime);
  const answer = await rawAnswer(
    server.port,
    "GET /api/things/long HTTP/1.1",
    "accept-encoding: gzip\r\n",
  );
  assert(/^content-encoding: gzip\r$/im.test(answer), answer);
  await server.stop();
});

Deno.test("without the server of Deno, a response says nothing of its transfer", async () => {
  const { app } = await startApp();
  const { headers } = await app.fetch(new Request("http://x/api/things/long"));
  assertEquals(headers.get("transfer-encoding"), null);
  await app.close();
});

const noOpenssl = await findProgram(["openssl"]) === null ? "there is no openssl" : null;

testUnless(noOpenssl, "over HTTP/2, a long body arrives whole", async () => {
  const { app } = await startApp();
  const folder = await Deno.makeTempDir();
  await makeCertificates(folder);
  const [key, cert, ca] = await Promise.all(
    ["leaf.key", "leaf.pem", "ca.pem"].map((name) => Deno.readTextFile(`${folder}/${name}`)),
  );
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", key: key ?? "", cert: cert ?? "", onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  {
    using client = Deno.createHttpClient({ caCerts: [ca ?? ""], http1: false, http2: true });
    const url = `https://localhost:${server.addr.port}/api/things/long`;
    const response = await fetch(url, { client });
    assertEquals(await response.json(), { id: "long", body: long });
    assertEquals(response.headers.get("transfer-encoding"), null);
  }
  await server.shutdown();
  await app.close();
  await Deno.remove(folder, { recursive: true });
});
