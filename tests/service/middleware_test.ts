import { assertEquals } from "@std/assert";
import { Hono } from "@hono/hono";
import { basicAuth } from "@hono/hono/basic-auth";
import { HTTPException } from "@hono/hono/http-exception";
import { createApp, type RequestInfo } from "../../src/app/app.ts";
import type { AppConfig } from "../../src/app/config.ts";
import { Problem } from "../../src/problem/problem.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { Middleware } from "../../src/service/middleware.ts";

const rows = table("rows", { id: integer().primaryKey() });

async function fetchFrom(
  config: Partial<AppConfig>,
  path: string,
  headers: Record<string, string> = {},
  info?: RequestInfo,
): Promise<{ status: number; headers: Headers; text: string }> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([rows]);
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    resources: [resource(rows, { id: rows.id, auth: { public: true } })],
    runtime: systemRuntime(() => undefined),
    ...config,
  });
  const answer = await app.fetch(new Request(`http://test${path}`, { headers }), info);
  const text = await answer.text();
  await app.close();
  return { status: answer.status, headers: answer.headers, text };
}

// Hono's own type of a middleware is wider than the promised part of it.
const wantsPassword = basicAuth({ username: "u", password: "p" }) as unknown as Middleware;

Deno.test("a refusal of a Hono middleware is a problem with its headers, readable across origins", async () => {
  const refused = await fetchFrom({ cors: true, middleware: [wantsPassword] }, "/api/rows", {
    origin: "https://page.test",
  });
  assertEquals([refused.status, JSON.parse(refused.text).code], [401, "UNAUTHORIZED"]);
  assertEquals(refused.headers.get("www-authenticate"), 'Basic realm="Secure Area"');
  assertEquals(refused.headers.get("access-control-allow-origin"), "*");
  assertEquals(refused.headers.get("x-frame-options"), "DENY");
  const passed = await fetchFrom({ middleware: [wantsPassword] }, "/api/rows", {
    authorization: `Basic ${btoa("u:p")}`,
  });
  assertEquals(passed.status, 200);
});

Deno.test("every error of a middleware is a response with the service's headers", async () => {
  for (
    const thrown of ["a text", null, undefined, new Error("x"), { a: 1 }]
  ) {
    const answer = await fetchFrom({
      middleware: [() => {
        throw thrown;
      }],
    }, "/api/rows");
    assertEquals([answer.status, JSON.parse(answer.text).code], [500, "INTERNAL_ERROR"]);
    assertEquals(answer.headers.get("x-content-type-options"), "nosniff");
  }
  const none = await fetchFrom(
    { middleware: [() => Promise.resolve(Response.error())] },
    "/api/rows",
  );
  assertEquals(none.status, 500);
});

Deno.test("a header that a middleware sets cannot end the process", async () => {
  const answer = await fetchFrom({
    middleware: [async (context, next) => {
      await next();
      context.header("x-name", "caf\u00e9\u007f");
    }],
  }, "/api/rows");
  assertEquals([answer.status, answer.headers.get("x-name")], [200, "caf%C3%A9%7F"]);
});

Deno.test("auth routes receive the address of the client", async () => {
  const routes = new Hono<{ Bindings: RequestInfo }>();
  routes.get("/where", (context) => context.text(context.env.remoteAddr?.hostname ?? "nowhere"));
  const info = { remoteAddr: { transport: "tcp", hostname: "192.0.2.1" } };
  const answer = await fetchFrom({ auth: { routes } }, "/api/auth/where", {}, info);
  assertEquals([answer.status, answer.text], [200, "192.0.2.1"]);
  assertEquals((await fetchFrom({ auth: { routes } }, "/api/rows")).status, 200);
});

Deno.test("every 401 says how to authenticate and every 429 when to retry, whichever code refuses", async () => {
  const configOf = (thrower: () => Response | Promise<Response>): Partial<AppConfig> => ({
    middleware: [() => Promise.resolve(thrower())],
  });
  const thrown = (error: Error) => () => Promise.reject(error);
  const refusals: readonly (readonly [number, () => Response | Promise<Response>])[] = [
    [401, thrown(new Problem("unauthorized", "Not you"))],
    [401, thrown(new HTTPException(401))],
    [401, () => new Response("no", { status: 401 })],
    [429, thrown(new Problem("rate-limit-exceeded", "Too often"))],
    [429, thrown(new HTTPException(429))],
    [429, () => new Response("no", { status: 429 })],
  ];
  for (const [status, refuse] of refusals) {
    const answer = await fetchFrom(configOf(refuse), "/api/rows");
    const { headers } = answer;
    assertEquals(
      [answer.status, headers.get("www-authenticate"), headers.get("retry-after")],
      status === 401 ? [401, "Bearer", null] : [429, null, "86400"],
    );
  }
  // A middleware's own header stays as it is.
  const own = new Problem("rate-limit-exceeded", "Soon", { headers: { "Retry-After": "7" } });
  const answer = await fetchFrom(configOf(thrown(own)), "/api/rows");
  assertEquals([answer.status, answer.headers.get("retry-after")], [429, "7"]);
});
