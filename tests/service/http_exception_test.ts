import { assertEquals, assertStringIncludes } from "@std/assert";
import { Hono } from "@hono/hono";
import { HTTPException } from "@hono/hono/http-exception";
import type { ContentfulStatusCode } from "@hono/hono/utils/http-status";
import { problemCodes } from "../../src/protocol/problem_codes.ts";
import type { AppEnv } from "../../src/service/middleware.ts";
import { read, withNotes } from "./hono_support.ts";

const statuses = [
  ...[
    400,
    401,
    402,
    403,
    404,
    405,
    406,
    407,
    408,
    409,
    410,
    411,
    412,
    413,
    414,
    415,
    416,
    417,
    418,
  ],
  ...[421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 499],
  ...[500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511, 599],
];

Deno.test("an HTTPException keeps its status and message as a problem, wherever it is thrown", async () => {
  const thrower = new Hono<AppEnv>().get("/:status", (context) => {
    // Any number is a status here, whichever Hono has a name for.
    const status = Number(context.req.param("status")) as ContentfulStatusCode;
    throw new HTTPException(status, { message: `It is ${status}` });
  });
  const config = {
    auth: { routes: thrower },
    middleware: [(context: { req: { path: string } }, next: () => Promise<void>) => {
      const [, status] = /^\/mw\/(\d+)$/.exec(context.req.path) ?? [];
      if (status === undefined) return next();
      throw new HTTPException(Number(status) as ContentfulStatusCode, {
        message: `It is ${status}`,
      });
    }],
  };
  await withNotes(config, async ({ hono, observations }) => {
    hono.route("/added", thrower);
    const parent = new Hono().route("/v1", hono);
    for (const path of ["/mw", "/api/auth", "/added"]) {
      for (const [prefix, app] of [["", hono], ["/v1", parent]] as const) {
        if (path === "/mw" && prefix !== "") continue;
        const before = observations.length;
        for (const status of statuses) {
          const answer = await app.request(`${prefix}${path}/${status}`);
          assertEquals(answer.headers.get("content-type"), "application/problem+json");
          assertEquals(answer.headers.get("x-frame-options"), "DENY");
          const [found, body] = await read(answer);
          assertEquals([found, bodyOf(body)], [status, [status, `It is ${status}`]], path);
          requireConsistent(body, prefix);
        }
        const faults = statuses.filter((status) => status >= 500).length;
        assertEquals(observations.length - before, faults, path);
      }
    }
  });
});

/** A problem without a type of its own says no more than its status (RFC 9457, 4.2.1). */
function requireConsistent(body: unknown, prefix: string): void {
  // deno-lint-ignore no-explicit-any -- the assertions say what it is
  const { type, title, status, code } = body as any;
  if (type === "about:blank") assertEquals(code, `HTTP_${status}`);
  else {
    const slug = type.slice(`${prefix}/__service/problems/`.length);
    // A type that is not in the table has no title.
    const entry: { status: number; title: string } | undefined =
      problemCodes[slug as keyof typeof problemCodes];
    assertEquals([entry?.status, entry?.title], [status, title]);
  }
}

function bodyOf(body: unknown): unknown {
  // deno-lint-ignore no-explicit-any -- the assertion says what it is
  return [(body as any).status, (body as any).detail];
}

Deno.test("the response of an HTTPException keeps its headers, its cookies too", async () => {
  const headers = new Headers({ "www-authenticate": "Custom", "content-length": "2" });
  headers.append("set-cookie", "a=1");
  headers.append("set-cookie", "b=2");
  const exception = new HTTPException(401, { res: new Response("no", { headers }) });
  await withNotes({ middleware: [() => Promise.reject(exception)] }, async ({ app }) => {
    const answer = await app.fetch(new Request("http://test/api/notes"));
    assertEquals(answer.headers.get("www-authenticate"), "Custom");
    assertEquals(answer.headers.getSetCookie(), ["a=1", "b=2"]);
    assertEquals((await read(answer))[0], 401);
  });
});

Deno.test("an HTTPException that carries a redirection or a problem of its own is answered as it is", async () => {
  const own = { type: "https://errors.test/quota", title: "Quota", status: 403 };
  const problem = Response.json(own, { headers: { "content-type": "application/problem+json" } });
  const redirection = new Response(null, { headers: { location: "/login" } });
  const thrown = [
    new HTTPException(302 as ContentfulStatusCode, { res: redirection }),
    new HTTPException(403, { res: problem }),
  ];
  const middleware = [() => Promise.reject(thrown.shift())];
  await withNotes({ middleware }, async ({ app, observations }) => {
    const moved = await app.fetch(new Request("http://test/api/notes"));
    assertEquals([moved.status, moved.headers.get("location")], [302, "/login"]);
    assertEquals(await read(await app.fetch(new Request("http://test/api/notes"))), [403, own]);
    assertEquals(observations, []);
  });
});

Deno.test("a middleware sees the error of a route in c.error, as Hono has it", async () => {
  const seen: unknown[] = [];
  const config = {
    middleware: [async (context: { error: Error | undefined }, next: () => Promise<void>) => {
      await next();
      seen.push(context.error?.message);
    }],
  };
  await withNotes(config, async ({ app }) => {
    await app.fetch(new Request("http://test/api/notes/none"));
    assertEquals(seen, ["There is no row with the id none in notes"]);
  });
});

Deno.test("an HTTPException whose response was read before keeps its status and headers", async () => {
  const consumed = async (status: 302 | 401) => {
    const res = new Response("read", { status, headers: { location: "/login" } });
    await res.text();
    throw new HTTPException(status, { res, message: "Sign in" });
  };
  for (const status of [302, 401] as const) {
    const middleware = [() => consumed(status)];
    await withNotes({ middleware }, async ({ app, observations }) => {
      const answer = await app.fetch(new Request("http://test/api/notes"));
      assertEquals([answer.status, answer.headers.get("location")], [status, "/login"]);
      assertStringIncludes(await answer.text(), "Sign in");
      assertEquals(observations, []);
    });
  }
});
