import { assertEquals, assertRejects } from "@std/assert";
import { Hono } from "@hono/hono";
import { HTTPException } from "@hono/hono/http-exception";
import type { AppConfig } from "../../src/app/config.ts";
import { Problem } from "../../src/problem/problem.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import type { AppEnv, Middleware } from "../../src/service/middleware.ts";
import { byHeader, notes, read, withNotes } from "./hono_support.ts";

const routes = new Hono<AppEnv>()
  .get("/me", (context) => context.json({ user: context.get("user") ?? null }))
  .get("/forbidden", () => {
    throw new Problem("forbidden", "Not you");
  })
  .get("/unavailable", () => {
    throw new Problem("store-unavailable", "Later");
  })
  .get("/teapot", () => {
    throw new HTTPException(418, { message: "Short and stout" });
  });

Deno.test("auth routes see the user that auth.middleware has set", async () => {
  await withNotes({ auth: { routes, middleware: byHeader } }, async ({ hono }) => {
    const headers = { "x-user": "ada" };
    const me = await hono.request("/api/auth/me", { headers });
    assertEquals(await read(me), [200, { user: { id: "ada" } }]);
    assertEquals(await read(await hono.request("/api/auth/me")), [200, { user: null }]);
  });
});

Deno.test("what an auth route throws is a problem, and observed when it is a fault", async () => {
  for (const copy of [routes, foreign(routes)]) {
    await withNotes({ auth: { routes: copy } }, async ({ hono, observations }) => {
      const answers = [];
      for (const name of ["forbidden", "unavailable", "teapot", "nothing"]) {
        const [status, body] = await read(await hono.request(`/api/auth/${name}`));
        // deno-lint-ignore no-explicit-any -- the assertion says what it is
        answers.push([status, (body as any).code, (body as any).type]);
      }
      assertEquals(answers, [
        [403, "FORBIDDEN", "/__service/problems/forbidden"],
        [503, "STORE_UNAVAILABLE", "/__service/problems/store-unavailable"],
        [418, "HTTP_418", "about:blank"],
        [404, "NOT_FOUND", "/__service/problems/not-found"],
      ]);
      assertEquals(observations.length, 1);
    });
  }
});

Deno.test("an error handler of the auth routes keeps the answers of their failures", async () => {
  const own = new Hono().get("/x", () => {
    throw new Error("x");
  });
  own.onError((_error, context) => context.text("handled", 400));
  for (const copy of [own, foreign(own)]) {
    await withNotes({ auth: { routes: copy } }, async ({ hono }) => {
      assertEquals(await read(await hono.request("/api/auth/x")), [400, "handled"]);
    });
  }
});

Deno.test("a router that is no Hono app answers below {basePath}/auth as before", async () => {
  const router = { fetch: (request: Request) => new Response(new URL(request.url).pathname) };
  await withNotes({ auth: { routes: router, middleware: byHeader } }, async ({ hono }) => {
    assertEquals(await read(await hono.request("/api/auth/login/now")), [200, "/login/now"]);
    assertEquals((await hono.request("/api/notes")).status, 200);
  });
});

const refusals: readonly (readonly [name: string, refuse: Middleware])[] = [
  ["throws a problem", () => {
    throw new Problem("unauthorized", "No");
  }],
  ["throws an HTTPException", () => {
    throw new HTTPException(401);
  }],
  ["fails", () => {
    throw new Error("The session store is down");
  }],
  ["returns a 401", (context) => Promise.resolve(context.text("no", 401))],
];

Deno.test("health, problem pages and auth routes stay in reach when the auth middleware refuses", async () => {
  for (const [name, middleware] of refusals) {
    await withNotes(
      { auth: { routes, middleware }, cors: true },
      async ({ hono, observations }) => {
        for (const path of ["/healthz", "/readyz", "/__service/problems/", "/api/auth/me"]) {
          assertEquals((await hono.request(path)).status, 200, `${name}: ${path}`);
        }
        assertEquals(observations.length, name === "fails" ? 1 : 0);
        const status = name === "fails" ? 500 : 401;
        const others = ["/api/notes", "/api/notes/one", "/nothing", "/api", "/api/authx"];
        for (const path of others) {
          assertEquals((await hono.request(path)).status, status, `${name}: ${path}`);
        }
        for (const path of ["/v1/healthz", "/v1/api/auth/me"]) {
          const parent = new Hono().route("/v1", hono);
          assertEquals((await parent.request(path)).status, 200, `${name}: ${path}`);
        }
      },
    );
  }
});

Deno.test("middleware runs after the user is identified, cors before", async () => {
  const seen: unknown[] = [];
  const config: Partial<AppConfig> = {
    cors: true,
    auth: { middleware: byHeader },
    middleware: [async (context, next) => {
      seen.push(context.get("user"));
      await next();
    }],
  };
  await withNotes(config, async ({ hono }) => {
    await hono.request("/api/notes", { headers: { "x-user": "ada" } });
    const preflight = await hono.request("/api/notes", {
      method: "OPTIONS",
      headers: { origin: "https://page.test", "access-control-request-method": "GET" },
    });
    assertEquals(preflight.status, 204);
    assertEquals(seen, [{ id: "ada" }]);
  });
});

Deno.test("a resource at the path of the auth routes fails the start", async () => {
  const options = { id: notes.id, path: "auth", auth: { public: true as const } };
  await assertRejects(
    () =>
      withNotes(
        { auth: { routes }, resources: [resource(notes, options)] },
        () => Promise.resolve(),
      ),
    Error,
    'Cannot serve "notes" at /api/auth: auth.routes are there',
  );
});

const foreignDefault = () => new Response("the default of that copy", { status: 500 });

class ForeignHono {
  errorHandler: unknown = foreignDefault;
}

/** The same app, as if it came from another copy of Hono. */
function foreign(app: Hono<AppEnv> | Hono): Hono {
  const errorHandler: unknown = Reflect.get(app, "errorHandler");
  const isDefault = errorHandler === Reflect.get(new Hono(), "errorHandler");
  const { routes, fetch } = app;
  const copy = Object.assign(
    new ForeignHono(),
    isDefault ? { routes, fetch } : { routes, fetch, errorHandler },
  );
  // To TypeScript, an app of another copy is a Hono.
  return copy as unknown as Hono;
}
