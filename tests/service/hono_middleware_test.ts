import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { Hono, type MiddlewareHandler } from "@hono/hono";
import { basicAuth } from "@hono/hono/basic-auth";
import { bearerAuth } from "@hono/hono/bearer-auth";
import { bodyLimit } from "@hono/hono/body-limit";
import { every } from "@hono/hono/combine";
import { compress } from "@hono/hono/compress";
import { etag } from "@hono/hono/etag";
import { createMiddleware } from "@hono/hono/factory";
import { jwt, type JwtVariables, sign } from "@hono/hono/jwt";
import { logger } from "@hono/hono/logger";
import { requestId } from "@hono/hono/request-id";
import { secureHeaders } from "@hono/hono/secure-headers";
import { timeout } from "@hono/hono/timeout";
import { validator } from "@hono/hono/validator";
import type { User } from "../../src/auth/authorize.ts";
import type { AppConfig } from "../../src/app/config.ts";
import type { AppEnv } from "../../src/service/middleware.ts";
import { post, read, withNotes } from "./hono_support.ts";

type Fetch = (request: Request) => Response | Promise<Response>;

/** Runs `work` with middlewares in the app, and with the same in a parent that mounts it. */
async function withEither(
  middleware: readonly MiddlewareHandler[],
  work: (fetch: Fetch, where: string) => Promise<void>,
  config: Partial<AppConfig> = {},
): Promise<void> {
  await withNotes({ ...config, middleware }, ({ app }) => work(app.fetch, "in the app"));
  await withNotes(config, async ({ hono }) => {
    const parent = new Hono();
    for (const one of middleware) parent.use(one);
    await work(parent.route("/", hono).fetch, "in a parent");
  });
}

function get(path: string, headers: Record<string, string> = {}): Request {
  return new Request(`http://test${path}`, { headers });
}

async function header(answer: Response, name: string): Promise<string | null> {
  await answer.body?.cancel();
  return answer.headers.get(name);
}

Deno.test("requestId sets the header, of a failure too", async () => {
  await withEither([requestId()], async (fetch, where) => {
    const given = await fetch(get("/api/notes", { "x-request-id": "abc" }));
    assertEquals(await header(given, "x-request-id"), "abc", where);
    const missing = await fetch(get("/api/notes/none"));
    assertEquals(missing.status, 404);
    assertMatch(await header(missing, "x-request-id") ?? "", /^[0-9a-f-]{36}$/, where);
  });
});

Deno.test("timeout answers 504 while the route still runs", async () => {
  let release = () => {};
  const slow: MiddlewareHandler = async (_, next) => {
    await new Promise<void>((resolve) => release = resolve);
    await next();
  };
  await withEither([timeout(1), slow], async (fetch, where) => {
    const answer = await fetch(get("/api/notes"));
    assertEquals(answer.status, 504, where);
    release();
    await answer.body?.cancel();
  });
  await withNotes({ middleware: [timeout(1), slow] }, async ({ app, observations }) => {
    assertEquals(await read(await app.fetch(get("/api/notes"))), [504, {
      type: "about:blank",
      title: "Gateway Timeout",
      status: 504,
      detail: "Gateway Timeout",
      code: "HTTP_504",
    }]);
    assertEquals(observations.map(({ kind }) => kind), ["request_failed"]);
    release();
  });
});

Deno.test("jwt identifies the user, and refuses a token with its own header", async () => {
  const secret = "a secret for the tests only";
  const middleware = every(
    jwt({ secret, alg: "HS256" }),
    createMiddleware<{ Variables: JwtVariables<{ sub: string }> & AppEnv["Variables"] }>(async (
      context,
      next,
    ) => {
      context.set("user", { id: context.get("jwtPayload").sub });
      await next();
    }),
  );
  await withNotes({ auth: { middleware } }, async ({ app, hono }) => {
    hono.get("/me", (context) => context.text(context.get("user")?.id ?? "no user"));
    const token = await sign({ sub: "ada" }, secret, "HS256");
    const authorization = `Bearer ${token}`;
    assertEquals(await read(await app.fetch(get("/me", { authorization }))), [200, "ada"]);
    assertEquals((await app.fetch(get("/api/notes", { authorization }))).status, 200);
    const refused = await app.fetch(get("/api/notes", { authorization: "Bearer x.y.z" }));
    const [status, body] = await read(refused);
    // deno-lint-ignore no-explicit-any -- the assertion says what it is
    assertEquals([status, (body as any).code], [401, "UNAUTHORIZED"]);
    assertMatch(refused.headers.get("www-authenticate") ?? "", /error="invalid_token"/);
  });
});

Deno.test("basicAuth and bearerAuth refuse with their own challenge", async () => {
  const challenges: readonly (readonly [MiddlewareHandler, string, RegExp])[] = [
    [basicAuth({ username: "u", password: "p" }), `Basic ${btoa("u:p")}`, /^Basic realm=/],
    [bearerAuth({ token: "secret" }), "Bearer secret", /^Bearer realm=/],
  ];
  for (const [middleware, authorization, challenge] of challenges) {
    await withNotes({ middleware: [middleware] }, async ({ app }) => {
      assertEquals((await app.fetch(get("/api/notes", { authorization }))).status, 200);
      const refused = await app.fetch(get("/api/notes"));
      assertEquals(refused.headers.get("content-type"), "application/problem+json");
      assertMatch(await header(refused, "www-authenticate") ?? "", challenge);
    });
  }
});

Deno.test("bodyLimit refuses a larger body, declared or not, and passes a smaller one on", async () => {
  await withEither([bodyLimit({ maxSize: 20 })], async (fetch, where) => {
    const large = '{"id":"two","title":"a long title"}';
    for (const isDeclared of [true, false]) {
      const request = post("/api/notes", large);
      const sent = isDeclared
        ? new Request(request, { headers: { ...headersOf(request), "content-length": "35" } })
        : request;
      assertEquals((await read(await fetch(sent)))[0], 413, where);
    }
    assertEquals((await read(await fetch(post("/api/notes", '{"id":"two"}'))))[0], 201, where);
  });
});

Deno.test("secureHeaders and the service's own headers stand side by side", async () => {
  await withEither([secureHeaders()], async (fetch, where) => {
    for (const path of ["/api/notes", "/api/notes/none", "/nothing"]) {
      const answer = await fetch(get(path));
      assertEquals(await header(answer, "cross-origin-opener-policy"), "same-origin", where + path);
      assertEquals(answer.headers.get("x-content-type-options"), "nosniff");
    }
  });
});

Deno.test("compress compresses a list, and leaves a live stream alone", async () => {
  await withEither([compress({ threshold: 0 })], async (fetch, where) => {
    const zipped = await fetch(get("/api/notes", { "accept-encoding": "gzip" }));
    assertEquals(zipped.headers.get("content-encoding"), "gzip", where);
    const stream = zipped.body?.pipeThrough(new DecompressionStream("gzip")) ?? null;
    assertEquals((await new Response(stream).json()).items.length, 3);
    const live = await fetch(
      get("/api/notes/subscribe", { "accept-encoding": "gzip", "x-user": "ada" }),
    );
    assertEquals(live.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assertEquals(await header(live, "content-encoding"), "identity");
  });
});

Deno.test("etag tags a count, and answers 304 for it", async () => {
  await withEither([etag()], async (fetch, where) => {
    const first = await fetch(get("/api/notes/count"));
    const tag = await header(first, "etag");
    assertNotEquals(tag, null, where);
    const second = await fetch(get("/api/notes/count", { "if-none-match": tag ?? "" }));
    assertEquals([second.status, await second.text()], [304, ""], where);
  });
});

Deno.test("logger logs the method, the path and the status", async () => {
  const lines: string[] = [];
  await withEither([logger((line) => lines.push(line))], async (fetch) => {
    await header(await fetch(get("/api/notes/none")), "x");
    assertMatch(lines.splice(0).join("\n"), /GET \/api\/notes\/none\n.*GET.* \S*404/s);
  });
});

Deno.test("validator reads the body before the route, which reads it as well", async () => {
  const named = validator("json", (value, context) => {
    if (typeof value.id !== "string") return context.json({ error: "id" }, 422);
    return value;
  });
  await withEither([named], async (fetch, where) => {
    assertEquals(
      await read(await fetch(post("/api/notes", '{"id":"two"}'))),
      [201, { id: "two", title: null, deletedAt: null }],
      where,
    );
    assertEquals(await read(await fetch(post("/api/notes", "{}"))), [422, { error: "id" }]);
    assertEquals((await read(await fetch(post("/api/notes", "{"))))[0], 400, where);
  });
});

Deno.test("a middleware for this app's context, or for any, is accepted without a cast", async () => {
  const typed = createMiddleware<AppEnv>(async (context, next) => {
    const user: User | null | undefined = context.get("user");
    await next();
    context.header("x-seen", user?.id ?? "anonymous");
  });
  const untyped = createMiddleware(async (_, next) => await next());
  await withNotes({ middleware: [typed, untyped] }, async ({ app }) => {
    const answer = await app.fetch(get("/api/notes", { "x-user": "ada" }));
    assertEquals(await header(answer, "x-seen"), "ada");
  });
});

function headersOf(request: Request): Record<string, string> {
  return Object.fromEntries(request.headers);
}
