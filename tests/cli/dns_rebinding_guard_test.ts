import { assertEquals, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { type Child, startChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";

const program = new URL("../../cli.ts", import.meta.url).pathname;

interface Started {
  readonly port: number;
  readonly token: string;
}

async function started(child: Child): Promise<Started> {
  const { input } = await child.printed(/^Try:\n {2}curl .*\n/m);
  const [, port = ""] = /:(\d+)\/healthz/.exec(input) ?? [];
  const [, token = ""] = /Authorization: Bearer ([\w-]+)/.exec(input) ?? [];
  return { port: Number(port), token };
}

/** A GET as raw text, because no HTTP client sends an arbitrary Host. */
async function get(port: number, path: string, headers: readonly string[]): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = [`GET ${path} HTTP/1.1`, ...headers, "connection: close"].join("\r\n");
  await connection.write(new TextEncoder().encode(`${head}\r\n\r\n`));
  return await new Response(connection.readable).text();
}

async function status(port: number, path: string, ...headers: string[]): Promise<number> {
  const [, code] = /^HTTP\/1\.1 (\d+)/.exec(await get(port, path, headers)) ?? [];
  return Number(code);
}

const foreign = [
  ...["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example"],
  ...["evil-localhost", "192.168.0.7", "[::2]", "0.0.0.0"],
];

const forwarded = [
  ...["x-forwarded-for: 203.0.113.7", "x-forwarded-for: 127.0.0.1, 203.0.113.7"],
  ...["x-real-ip: 203.0.113.7", "forwarded: for=203.0.113.7", "via: 1.1 proxy"],
];

async function assertGuarded({ port }: Started, path: string): Promise<void> {
  const own = ["localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "[::1]"];
  for (const host of own.flatMap((name) => [name, `${name}:${port}`, `${name}:1`])) {
    assertEquals(await status(port, path, `host: ${host}`), 200, host);
  }
  for (const host of foreign) {
    for (const at of [path, "/healthz", "/api/absent"]) {
      assertEquals(await status(port, at, `host: ${host}`), 403, `${host} ${at}`);
    }
  }
  // A proxy can send its own Host, or a Host that the client has chosen.
  for (const header of forwarded) {
    assertEquals(await status(port, path, "host: localhost", header), 403, header);
  }
  for (const header of ["x-forwarded-for: 127.0.0.1, ::1", "x-real-ip: 127.0.0.1"]) {
    assertEquals(await status(port, path, "host: localhost", header), 200, header);
  }
  // An invalid name.
  assertEquals(await status(port, path, "host: 127.0.0.1@evil.example"), 400);
  // RFC 9112, 3.2.2: the host in the request line overrides the header.
  assertEquals(await status(port, `http://evil.example${path}`, "host: localhost"), 403);
  const answer = await get(port, path, ["host: evil.example"]);
  assertStringIncludes(answer, "/__service/problems/forbidden");
}

Deno.test("on the loopback the demonstration answers under loopback names only", async () => {
  await using folder = await scratchFolder();
  await using child = startChild([program, "--port", "0"], { cwd: folder.path });
  const server = await started(child);
  await assertGuarded(server, "/api/books");
  const { port, token } = server;
  const headers = ["host: evil.example", `authorization: Bearer ${token}`];
  assertEquals(await status(port, "/api/books", ...headers), 200);
  // A wrong token is refused before the name is looked at.
  assertEquals(await status(port, "/api/books", ...headers.map((line) => `${line}x`)), 401);
});

/** Creates a database with the table `customer`, and returns its path. */
function shopIn(folder: string): string {
  const path = `${folder}/shop.db`;
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE customer (id INTEGER PRIMARY KEY)");
  db.close();
  return path;
}

Deno.test("so does the API of a database file, and with --public under every name", async () => {
  await using folder = await scratchFolder();
  const path = shopIn(folder.path);
  {
    await using child = startChild([program, path, "--port", "0"]);
    await assertGuarded(await started(child), "/api/customer");
  }
  await using child = startChild([program, path, "--port", "0", "--public"]);
  const { port } = await started(child);
  assertEquals(await status(port, "/api/customer", "host: shop.example"), 200);
});

Deno.test("behind a proxy, and in production, reads on the loopback need the token or a login", async () => {
  await using folder = await scratchFolder();
  const path = shopIn(folder.path);
  const kv = `${folder.path}/service.kv`;
  const options = [program, path, "--port", "0", "--ui", "--users", "--kv", kv];
  const env = { SERVICE_SECRET: "a secret for the tests only", SERVICE_ENV: "production" };
  const starts = [[[...options, "--trust-proxy", "1"], {}], [options, { env }]] as const;
  for (const [args, settings] of starts) {
    await using child = startChild([...args], settings);
    const { port, token } = await started(child);
    const hosts = ["host: localhost", "host: 127.0.0.1", "host: shop.example"];
    const clients = [[], ["x-forwarded-for: 203.0.113.7"], ["x-forwarded-for: 127.0.0.1"]];
    for (const host of hosts) {
      for (const client of clients) {
        const ask = (path: string, ...more: string[]) =>
          status(port, path, host, ...client, ...more);
        assertEquals(await ask("/api/customer"), 401);
        assertEquals(await ask("/api/customer", `authorization: Bearer ${token}`), 200);
        assertEquals(await ask("/__service/ui"), 200);
        assertEquals(await ask("/__service/ui/report/service"), 401);
        assertEquals(await ask("/api/auth/me"), 200);
      }
    }
  }
});
