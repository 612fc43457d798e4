import { assertEquals, assertMatch } from "@std/assert";
import { type App, createApp } from "../../src/app/app.ts";
import type { AppConfig } from "../../src/app/config.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { all } from "../../src/filter/builders.ts";
import { listen, type Server } from "../../src/listen/listener.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import type { Observation, Runtime } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";

const things = table("things", { id: text().primaryKey() });

async function openApp(runtime: Runtime, options: Partial<AppConfig> = {}): Promise<App> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([things]);
  return await createApp({
    db,
    runtime,
    secret: "sixteen or more characters",
    middleware: [async (context, next) => {
      await next();
      // As a careless middleware does: a part of the path in a header.
      const [, last = ""] = /([^/]*)$/.exec(context.req.path) ?? [];
      context.header("x-last", /%0[0ad]/i.test(last) ? "" : unescape(last));
    }],
    resources: [resource(things, { id: things.id, auth: { public: { read: true } } })],
    ...options,
  });
}

/** Sends raw bytes; returns the first line of the answer, or the empty text without one. */
async function firstLine(server: Server, ...request: readonly string[]): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  for (const piece of request) await connection.write(new TextEncoder().encode(piece));
  const buffer = new Uint8Array(1_024);
  const length = await connection.read(buffer);
  const [line = ""] = new TextDecoder().decode(buffer.subarray(0, length ?? 0)).split("\r\n");
  return line;
}

Deno.test("no request and no header value ends the process or gets a 500", async () => {
  const runtime = systemRuntime(() => {});
  const app = await openApp(runtime);
  const server = listen(app, { port: 0 }, runtime);
  const close = "connection: close\r\n\r\n";
  const cases: readonly [request: string, answer: RegExp][] = [
    // A control byte in a response header ends the process inside Deno, past every catch.
    [`GET /api/things/a%01b HTTP/1.1\r\nhost: x\r\n${close}`, / 404 /],
    [`GET /api/things/a%7fb HTTP/1.1\r\nhost: x\r\n${close}`, / 404 /],
    [`GET /api/things/a%1bb HTTP/1.1\r\nhost: x\r\n${close}`, / 404 /],
    [`GET /api/things/%ff HTTP/1.1\r\nhost: x\r\n${close}`, / 400 /],
    [`GET /api/things/% HTTP/1.1\r\nhost: x\r\n${close}`, / 400 /],
    [`GET /api/things HTTP/1.1\r\nhost: a b\r\n${close}`, / (200|400) /],
    [`GET /api/things HTTP/1.1\r\nhost: [::\r\n${close}`, / (200|400) /],
    [`GET /api/things HTTP/1.0\r\n\r\n`, / (200|400) /],
    [`GET http://evil.example/api/things HTTP/1.1\r\nhost: x\r\n${close}`, / (200|400|404) /],
    [`GET //evil.example HTTP/1.1\r\nhost: x\r\n${close}`, / (400|404) /],
    [`GET /api/../healthz HTTP/1.1\r\nhost: x\r\n${close}`, / (200|400|404) /],
    [`OPTIONS * HTTP/1.1\r\nhost: x\r\n${close}`, / (204|400|404|405) /],
    [`${"X".repeat(300)} /api/things HTTP/1.1\r\nhost: x\r\n${close}`, / (400|405|501) /],
    [`GET /healthz HTTP/1.1\r\nhost: x\r\n${close}`, / 200 /],
  ];
  for (const [request, answer] of cases) {
    assertMatch(await firstLine(server, request), answer, JSON.stringify(request.slice(0, 60)));
  }
  await server.stop();
});

Deno.test("the answer to a body that does not arrive in time asks for the end of its socket", async () => {
  const runtime = systemRuntime(() => {});
  const app = await openApp(runtime, {
    bodyTimeoutMs: 50,
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ann" });
        await next();
      },
    },
    resources: [resource(things, { id: things.id, auth: { public: true, create: () => all() } })],
  });
  const server = listen(app, { port: 0, stopDeadlineMs: 1_000 }, runtime);
  const head = "POST /api/things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
  for (const rest of ["content-length: 9\r\n\r\n{", "transfer-encoding: chunked\r\n\r\n1\r\n{"]) {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    await connection.write(new TextEncoder().encode(head + rest));
    const bytes = new Uint8Array(1_024);
    const text = new TextDecoder().decode(bytes.subarray(0, await connection.read(bytes) ?? 0));
    assertMatch(text, /^HTTP\/1.1 408 [^]*\r\nconnection: close\r\n/);
  }
  await server.stop();
});

Deno.test("readyz is 503 on a connection that is open while the app drains", async () => {
  const runtime = systemRuntime(() => {});
  const app = await openApp(runtime);
  const server = listen(app, { port: 0 }, runtime);
  const statusOf = async (path: string) => {
    const response = await fetch(server.url + path);
    await response.body?.cancel();
    return response.status;
  };
  assertEquals([await statusOf("/healthz"), await statusOf("/readyz")], [200, 200]);
  app.drain();
  assertEquals([await statusOf("/healthz"), await statusOf("/readyz")], [200, 503]);
  await server.stop();
});

Deno.test("a body over the limit is 413 before proof of work looks at it, and is not read whole", async () => {
  const observations: Observation[] = [];
  const runtime = systemRuntime((observation) => observations.push(observation));
  const options = {
    id: things.id,
    auth: { public: true, create: () => all() },
    pow: true,
  } as const;
  const app = await openApp(runtime, {
    kv: ":memory:",
    bodyLimit: 1_000,
    abuseProtection: { pow: { secret: "sixteen or more characters" } },
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ann" });
        await next();
      },
    },
    resources: [resource(things, options)],
  });
  const server = listen(app, { port: 0 }, runtime);
  const solution = "service-pow-challenge: none\r\nservice-pow-nonce: none\r\n";
  const head =
    `POST /api/things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${solution}`;
  const chunk = (length: number) => `${length.toString(16)}\r\n${" ".repeat(length)}\r\n`;
  const endless = `${head}transfer-encoding: chunked\r\n\r\n`;
  // None of these bodies ends, so a server that waited for the end would not answer.
  assertMatch(await firstLine(server, `${head}content-length: 1001\r\n\r\n`), / 413 /);
  assertMatch(await firstLine(server, endless + chunk(600), chunk(600)), / 413 /);
  assertEquals(observations.filter(({ kind }) => kind === "proof_of_work_refused"), []);
  assertMatch(await firstLine(server, `${endless}${chunk(600)}0\r\n\r\n`), / 428 /);
  assertEquals(observations.filter(({ kind }) => kind === "proof_of_work_refused").length, 1);
  await server.stop();
});
