import { assertEquals, assertStringIncludes } from "@std/assert";
import { type App, createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { listen } from "../../src/listen/listener.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { startDenoServe } from "./deno_serve.ts";

const notes = table("notes", { id: text().primaryKey() });
const runtime = systemRuntime(() => {});

/** `seen` collects the paths that the deployer's middleware sees. */
async function openApp(seen: string[] = []): Promise<App> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  return await createApp({
    db,
    runtime,
    secret: "sixteen or more characters",
    middleware: [async (context, next) => {
      seen.push(context.req.path);
      await next();
    }],
    resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
  });
}

/** Sends raw lines; returns the status and the body of the answer. */
async function send(port: number, ...lines: readonly string[]): Promise<[number, string]> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = [...lines, "connection: close", "", ""].join("\r\n");
  await connection.write(new TextEncoder().encode(head));
  const answer = await new Response(connection.readable).text();
  const end = answer.indexOf("\r\n\r\n");
  return [Number(/^HTTP\/1\.\d (\d+)/.exec(answer)?.[1]), answer.slice(end + 4)];
}

const list = '{"items":[],"nextCursor":null,"hasMore":false}';
const alive = '{"status":"ok"}';

const invalidHosts = [
  ...["x/api/notes?", "x/api/notes#", "x/api", "x?", "x#", "x/", "127.0.0.1/api/notes?"],
  ...["u@x", "u:p@x", "a b", "x\\api", "[::1", "::1", "[::1]x", "x:80:80", "x:8a", "x:123456", ""],
  ...["http://x", "x, y", "x,y", "%", "%2", "\u00e4.example"],
  // No URL has such a host, and code that reads one would throw.
  ...["x:65536", "x:99999", "[::1]:70000", "[1:2]", "[:::1]", "1.2.3.999", "1.2.3.4.5", "a%00b"],
];
const plainHosts = [
  ...["x", "x:80", "x:", "X.Example:080", "localhost", "127.0.0.1:1", "[::1]", "[::1]:80"],
  ...["some_name", "xn--4ca.example", "a-b.c~d"],
];

async function assertTargetsAlone(port: number): Promise<void> {
  // In this order a valid host is remembered before an invalid one that begins like it.
  for (const host of plainHosts) {
    assertEquals(await send(port, "GET /healthz HTTP/1.1", `host: ${host}`), [200, alive], host);
    for (const strange of [`${host}/api/notes?`, `${host}/api`, `${host}?`, `${host}#`]) {
      const [status, body] = await send(port, "GET /healthz HTTP/1.1", `host: ${strange}`);
      assertEquals(status, 400, strange);
      assertStringIncludes(body, '"code":"INVALID_PARAMETER"');
    }
    assertEquals(await send(port, "GET /api/notes HTTP/1.1", `host: ${host}`), [200, list], host);
  }
  for (const host of invalidHosts) {
    for (const path of ["/healthz", "/api/notes", "/api/notes?filter=id==a", "/absent"]) {
      const [status] = await send(port, `GET ${path} HTTP/1.1`, `host: ${host}`);
      assertEquals(status, 400, `${host} ${path}`);
    }
  }
}

Deno.test("the path does not come from Host: a Host that is not host[:port] is 400", async () => {
  const seen: string[] = [];
  const server = listen(await openApp(seen), { port: 0 }, runtime);
  await assertTargetsAlone(server.port);
  // Middlewares decide by paths as well: none saw a path that is not of a request target.
  assertEquals([...new Set(seen)].sort(), ["/api/notes", "/healthz"]);
  await server.stop();
});

Deno.test("the path does not come from Host under deno serve either", async () => {
  const example = new URL("host_app.ts", import.meta.url).pathname;
  await using server = startDenoServe(example);
  await assertTargetsAlone(await server.port());
});

Deno.test("an absolute target has its own path, and its own host is checked like the header", async () => {
  const server = listen(await openApp(), { port: 0 }, runtime);
  const { port } = server;
  const statusOf = async (target: string, ...headers: string[]) =>
    (await send(port, `GET ${target} HTTP/1.1`, ...headers))[0];
  assertEquals(await send(port, "GET http://y/healthz HTTP/1.1", "host: x"), [200, alive]);
  assertEquals(await send(port, "GET http://y/api/notes?limit=1 HTTP/1.1", "host: x"), [200, list]);
  assertEquals(await statusOf("http://y", "host: x"), 404);
  assertEquals(await statusOf("http://y?/api/notes", "host: x"), 404);
  assertEquals(await statusOf("http://y?/api/notes", "host: y"), 404);
  assertEquals(await statusOf("http://u:p@y/healthz", "host: x"), 400);
  assertEquals(await statusOf("http://x/healthz", "host: x/api/notes?"), 400);
  assertEquals(await statusOf("http://y/healthz", "host: x", "host: y"), 400);
  assertEquals(await statusOf("/healthz", "host: x", "host: y/api/notes?"), 400);
  await server.stop();
});

Deno.test("a request without Host is answered at the path of its target", async () => {
  const server = listen(await openApp(), { port: 0 }, runtime);
  const { port } = server;
  assertEquals(await send(port, "GET /healthz HTTP/1.0"), [200, alive]);
  assertEquals(await send(port, "GET /api/notes HTTP/1.1"), [200, list]);
  await server.stop();
});

Deno.test("fetch checks the Host from which an adapter made the URL", async () => {
  const app = await openApp();
  const statusOf = async (url: string, host?: string) => {
    const headers = host === undefined ? new Headers() : new Headers({ host });
    const answer = await app.fetch(new Request(url, { headers }));
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals(await statusOf("http://x/api/notes"), 200);
  assertEquals(await statusOf("http://x/api/notes?/healthz", "x/api/notes?"), 400);
  assertEquals(await statusOf("http://x/api/notes", "x, y"), 400);
  assertEquals(await statusOf("https://[::1]:8000/api/notes", "[::1]:8000"), 200);
  // With a proxy that forwards the client's Host, the URL may have another.
  assertEquals(await statusOf("http://127.0.0.1/api/notes", "shop.example"), 200);
  await app.close();
});
