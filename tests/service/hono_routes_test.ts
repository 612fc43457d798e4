import { assertEquals } from "@std/assert";
import { Hono } from "@hono/hono";
import { inspectRoutes, showRoutes } from "@hono/hono/dev";
import { testClient } from "@hono/hono/testing";
import type { User } from "../../src/auth/authorize.ts";
import type { AppEnv } from "../../src/service/middleware.ts";
import { notes, read, withNotes } from "./hono_support.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";

/** The routes of the contract, for a resource that has every capability. */
const contract = [
  "GET /healthz",
  "GET /readyz",
  "GET /__service/problems/",
  "GET /__service/problems/:slug",
  "GET /__service/schema",
  "GET /__service/openapi.json",
  "GET /__service/openapi.yaml",
  "GET /api",
  "GET /__service/client.js",
  "GET /__service/client/described_filter.js",
  "GET /__service/client/find_nonce.js",
  "GET /__service/client/link_page.js",
  "GET /api/notes",
  "POST /api/notes",
  "POST /api/notes/query",
  "GET /api/notes/count",
  "GET /api/notes/aggregate",
  "GET /api/notes/aggregate/subscribe",
  "GET /api/notes/subscribe",
  "POST /api/notes/batch",
  "PATCH /api/notes/batch",
  "PUT /api/notes/batch",
  "DELETE /api/notes/batch",
  "POST /api/notes/batch/upsert",
  "POST /api/notes/rpc/echo",
  "GET /api/notes/:id",
  "PATCH /api/notes/:id",
  "PUT /api/notes/:id",
  "DELETE /api/notes/:id",
  "POST /api/notes/:id/restore",
  "POST /__service/live",
];

Deno.test("app.hono lists every route of the contract and no other", async () => {
  const routes = new Hono();
  routes.post("/login", (context) => context.text("in"));
  await withNotes({ auth: { routes }, cors: true }, ({ hono }) => {
    const listed = inspectRoutes(hono).filter(({ isMiddleware }) => !isMiddleware)
      .map(({ method, path }) => `${method} ${path}`);
    assertEquals(
      new Set(listed),
      new Set([...contract, "POST /api/auth/login"]),
    );
    assertEquals(listed.length, contract.length + 1);
    assertEquals(
      inspectRoutes(hono).find(({ path }) => path === "/api/notes/count")?.name,
      "count",
    );
    assertEquals(shown(hono).length, contract.length + 1);
    return Promise.resolve();
  });
});

Deno.test("the routes of a parent show those of the app below its path", async () => {
  await withNotes({}, ({ hono }) => {
    const parent = new Hono().route("/v1", hono);
    const listed = inspectRoutes(parent).filter(({ isMiddleware }) => !isMiddleware)
      .map(({ method, path }) => `${method} ${path}`);
    assertEquals(listed, contract.map((route) => route.replace(" ", " /v1")));
    return Promise.resolve();
  });
});

Deno.test("a capability that is off has no route", async () => {
  const capabilities = { enableBatch: false, enableSubscribe: false, enableAggregations: false };
  const options = { id: notes.id, auth: { public: true as const }, capabilities };
  await withNotes({ health: false, resources: [resource(notes, options)] }, ({ hono }) => {
    const listed = inspectRoutes(hono).filter(({ isMiddleware }) => !isMiddleware)
      .map(({ method, path }) => `${method} ${path}`);
    assertEquals(
      listed,
      contract.filter((route) =>
        !/batch|subscribe|live|aggregate|rpc|restore|healthz|readyz/.test(route)
      ),
    );
    return Promise.resolve();
  });
});

Deno.test("a route that is added to app.hono answers, sees the user, and is typed", async () => {
  await withNotes({}, async ({ app, hono }) => {
    const extended = hono.get("/hello/:name", (context) => {
      const user: User | null | undefined = context.get("user");
      return context.json({ hello: context.req.param("name"), user: user?.id ?? null });
    });
    const request = new Request("http://test/hello/caf%C3%A9", { headers: { "x-user": "ada" } });
    assertEquals(await read(await app.fetch(request)), [200, { hello: "café", user: "ada" }]);
    const anonymous = await testClient(extended).hello[":name"].$get({ param: { name: "x" } });
    assertEquals(await anonymous.json(), { hello: "x", user: null });
    // A path with two spellings leads to the same route.
    assertEquals((await app.fetch(new Request("http://test/h%65llo/x"))).status, 200);
  });
});

Deno.test("routes can be added after the first request, and never hide those of resources", async () => {
  await withNotes({}, async ({ app, hono }) => {
    assertEquals((await hono.request("/late")).status, 404);
    hono.get("/late", (context) => context.text("late"));
    hono.get("/api/notes/one", (context) => context.text("hidden"));
    hono.get("/api/notes/search", (context) => context.text("found"));
    hono.use("/admin/*", async (context, next) => {
      context.header("x-admin", "yes");
      await next();
    });
    hono.route("/admin", new Hono().get("/", (context) => context.text("admin")));
    assertEquals(await read(await hono.request("/late")), [200, "late"]);
    const [, one] = await read(await hono.request("/api/notes/one"));
    assertEquals(one, { id: "one", title: "one", deletedAt: null });
    assertEquals(await read(await hono.request("/api/notes/search")), [200, "found"]);
    const admin = await app.fetch(new Request("http://test/admin"));
    assertEquals([admin.headers.get("x-admin"), await admin.text()], ["yes", "admin"]);
    const missing = await hono.request("/admin/nothing");
    assertEquals((await read(missing))[0], 404);
    assertEquals(missing.headers.get("content-type"), "application/problem+json");
  });
});

Deno.test("an answer of an added route has the service's headers, and its failure is a problem", async () => {
  await withNotes({ auth: {} }, async ({ app, hono, observations }) => {
    hono.get("/fine", (context) => context.text("fine"));
    hono.get("/broken", () => {
      throw new Error("a secret of the database");
    });
    const fine = await app.fetch(new Request("http://test/fine"));
    assertEquals(fine.headers.get("x-content-type-options"), "nosniff");
    await fine.body?.cancel();
    const [status, body] = await read(await app.fetch(new Request("http://test/broken")));
    assertEquals(status, 500);
    assertEquals(JSON.stringify(body).includes("secret"), false);
    assertEquals(observations.map(({ kind }) => kind), ["request_failed"]);
  });
});

Deno.test("app.hono.fetch answers as app.fetch does", async () => {
  await withNotes({ auth: {} }, async ({ app, hono }) => {
    for (
      const path of ["/api/notes", "/api/notes/a%2Fb", "/api/notes/%63ount", "/healthz", "/nothing"]
    ) {
      const [one, two] = [
        await app.fetch(new Request(`http://test${path}`)),
        await hono.request(path),
      ];
      assertEquals([two.status, [...two.headers]], [one.status, [...one.headers]], path);
      assertEquals((await read(two))[1], (await read(one))[1]);
    }
  });
});

Deno.test("HEAD of an export or a stream after a middleware claims no length", async () => {
  await withNotes({}, async ({ app }) => {
    for (const [path, accept] of [["/api/notes", "text/csv"], ["/api/notes/subscribe", "*/*"]]) {
      const request = new Request(`http://test${path}`, {
        method: "HEAD",
        headers: { accept: accept ?? "", "x-user": "ada" },
      });
      const response = await app.fetch(request);
      assertEquals(response.status, 200, path);
      assertEquals(response.headers.get("content-length"), null);
      // For null a listener sends a length of 0.
      assertEquals(response.body === null, false, path);
      assertEquals(await response.text(), "");
    }
  });
});

function shown(hono: Hono<AppEnv>): readonly string[] {
  const lines: string[] = [];
  const { log } = console;
  console.log = (line: string) => lines.push(line);
  try {
    showRoutes(hono, { colorize: false });
  } finally {
    console.log = log;
  }
  return lines;
}

Deno.test("a percent-encoded path of very many parts is refused instead of stopping the process", async () => {
  await withNotes({}, async ({ app, hono }) => {
    const parent = new Hono().route("/v1", hono);
    for (const path of ["/%61" + "/".repeat(60_000), "/api/notes" + "/%61".repeat(15_000)]) {
      const answers = [
        await app.fetch(new Request(`http://test${path}`)),
        await parent.fetch(new Request(`http://test/v1${path}`)),
      ];
      for (const answer of answers) assertEquals((await read(answer))[0], 404);
    }
  });
});

Deno.test("a method that is named like a property of every object is refused like any other", async () => {
  await withNotes({}, async ({ app, observations }) => {
    for (const method of ["constructor", "toString", "__proto__", "ALL", "TRICK"]) {
      const statuses: number[] = [];
      for (const path of ["/api/notes/one", "/api/notes", "/none", "/healthz"]) {
        const answer = await app.fetch(new Request(`http://test${path}`, { method }));
        statuses.push((await read(answer))[0]);
      }
      assertEquals(statuses, [405, 405, 404, 405], method);
    }
    assertEquals(observations, []);
  });
});
