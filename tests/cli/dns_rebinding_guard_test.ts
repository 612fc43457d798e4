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

Deno.test("so does the API of a database file, and with --public under every name", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/shop.db`;
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE customer (id INTEGER PRIMARY KEY)");
  db.close();
  {
    await using child = startChild([program, path, "--port", "0"]);
    await assertGuarded(await started(child), "/api/customer");
  }
  await using child = startChild([program, path, "--port", "0", "--public"]);
  const { port } = await started(child);
  assertEquals(await status(port, "/api/customer", "host: shop.example"), 200);
});
