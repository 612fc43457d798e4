import { assertEquals, assertStringIncludes } from "@std/assert";
import { Hono } from "@hono/hono";
import { post, read, withNotes } from "./hono_support.ts";

type Fetch = (request: Request) => Response | Promise<Response>;

/** Runs `work` with the app mounted at `/v1` in every way. */
async function withMounts(work: (fetch: Fetch, how: string) => Promise<void>): Promise<void> {
  await withNotes({}, async ({ hono }) => {
    const parent = new Hono().route("/v1", hono);
    await work(parent.fetch, "route");
  });
  await withNotes({}, async ({ hono }) => {
    const parent = new Hono().route("/:version", new Hono().route("/", hono));
    await work(parent.fetch, "route at a parameter");
  });
  await withNotes({ mountedAt: "/v1" }, async ({ app }) => {
    const parent = new Hono();
    parent.mount("/v1", app.fetch);
    await work(parent.fetch, "mount");
  });
}

Deno.test("below a path, Location and the type of a problem begin with the path", async () => {
  await withMounts(async (fetch, how) => {
    const created = await fetch(post("/v1/api/notes", '{"id":"two"}'));
    assertEquals(
      [created.status, created.headers.get("location")],
      [201, "/v1/api/notes/two"],
      how,
    );
    await created.body?.cancel();
    const again = await fetch(post("/v1/api/notes", '{"id":"two"}'));
    const problems = [
      again,
      await fetch(new Request("http://test/v1/api/notes/nothing")),
      await fetch(new Request("http://test/v1/api/notes", { method: "DELETE" })),
      await fetch(new Request("http://test/v1/nothing")),
    ];
    const types: unknown[] = [];
    for (const answer of problems) {
      const [, body] = await read(answer);
      // deno-lint-ignore no-explicit-any -- the assertion says what it is
      types.push((body as any).type);
    }
    const expected = ["conflict", "not-found", "method-not-allowed", "not-found"];
    assertEquals(types, expected.map((slug) => `/v1/__service/problems/${slug}`), how);
    for (const type of types) {
      const page = await fetch(new Request(`http://test${type}`));
      assertEquals(page.status, 200);
      assertStringIncludes(await page.text(), 'href="/v1/__service/problems/"');
    }
  });
});

Deno.test("an answer that is replayed below another path has the Location of that path", async () => {
  await withNotes({}, async ({ app, hono }) => {
    const parent = new Hono().route("/v1", hono);
    const headers = { "idempotency-key": "one-key" };
    const requestAt = (path: string) => post(`${path}/api/notes`, '{"id":"two"}', headers);
    const first = await parent.fetch(requestAt("/v1"));
    const second = await app.fetch(requestAt(""));
    assertEquals(second.headers.get("idempotency-replayed"), "true");
    assertEquals(
      [first, second].map((answer) => [answer.status, answer.headers.get("location")]),
      [[201, "/v1/api/notes/two"], [201, "/api/notes/two"]],
    );
    for (const answer of [first, second]) await answer.body?.cancel();
  });
});

Deno.test("in a parent by route() the answers are those of the app itself, whatever the spelling", async () => {
  await withNotes({}, async ({ app, hono }) => {
    const parent = new Hono().route("/v1", hono);
    const paths = [
      ...["", "/", "//", "/one", "/one/", "/count", "/count/", "/%63ount", "/a%2Fb", "/a%2Fb/"],
      ...[
        "/batch",
        "/search",
        "/search/",
        "/rpc/echo",
        "/rpc/restore",
        "/one/restore/",
        "/%",
        "/x/y",
      ],
    ].map((tail) => `/api/notes${tail}`).concat("/healthz", "/healthz/", "/readyz/x", "/", "/api");
    for (const method of ["GET", "HEAD", "DELETE", "OPTIONS", "PROPFIND"]) {
      for (const path of paths) {
        const own = await app.fetch(new Request(`http://test${path}`, { method }));
        const mounted = await parent.fetch(new Request(`http://test/v1${path}`, { method }));
        const [status, body] = await read(own);
        assertEquals(
          [mounted.status, mounted.headers.get("allow"), (await read(mounted))[1]],
          [status, own.headers.get("allow"), prefixed(body)],
          `${method} ${path}`,
        );
      }
    }
  });
});

Deno.test("routes of a parent that follow the app's answer what the app does not", async () => {
  await withNotes({}, async ({ hono }) => {
    const parent = new Hono().get("/v1/first", (context) => context.text("first"))
      .route("/v1", hono).get("/v1/last", (context) => context.text("last"));
    for (const name of ["first", "last"]) {
      assertEquals(await read(await parent.request(`/v1/${name}`)), [200, name]);
    }
    assertEquals((await parent.request("/v1/none")).status, 404);
    assertEquals(await read(await parent.request("/elsewhere")), [404, "404 Not Found"]);
  });
});

Deno.test("the middlewares of the app and of the parent run around its routes", async () => {
  const order: string[] = [];
  const middleware = [async (_: unknown, next: () => Promise<void>) => {
    order.push("app");
    await next();
  }];
  await withNotes({ middleware }, async ({ hono }) => {
    const parent = new Hono();
    parent.use(async (context, next) => {
      order.push("parent");
      await next();
      context.header("x-parent", "yes");
    });
    parent.route("/v1", hono);
    const answer = await parent.request("/v1/api/notes/count", { headers: { "x-user": "ada" } });
    assertEquals([await read(answer), answer.headers.get("x-parent")], [
      [200, { count: 3 }],
      "yes",
    ]);
    assertEquals(order, ["parent", "app"]);
  });
});

Deno.test("the path of a mount is found out wherever and however often a parent mounts the app", async () => {
  await withNotes({}, async ({ hono }) => {
    const nested = new Hono().route("/x/", hono);
    const byHost = (request: Request) => `/${new URL(request.url).host}/${request.url.slice(12)}`;
    const mounts: readonly [parent: Hono, path: string][] = [
      [new Hono().route("/t/:tenant", nested), "/t/a%20b%2Fc/x"],
      [new Hono().route("/:version", hono).route("/c/d", hono), "/c/d"],
      [new Hono().route("/:version", hono).route("/c/d", hono), "/c"],
      [new Hono().route("/:path{.+}/z", hono), "/a/b/z"],
      [new Hono({ strict: false }).route("/v1", hono), "/v1"],
      [new Hono({ getPath: byHost }).route("/test", hono), ""],
    ];
    for (const [index, [parent, path]] of mounts.entries()) {
      const created = await parent.fetch(post(`${path}/api/notes/`, `{"id":"two ${index}"}`));
      assertEquals(
        [created.status, created.headers.get("location")],
        [201, `${path}/api/notes/two%20${index}`],
        path,
      );
      await created.body?.cancel();
      const [status, body] = await read(await parent.request(`http://test${path}/api/notes/none`));
      assertEquals(status, 404);
      assertEquals(typeOf(body), `${path}/__service/problems/not-found`);
    }
  });
});

Deno.test("the limit of bodies holds for one that a middleware of the parent has read", async () => {
  await withNotes({ bodyLimit: 100 }, async ({ hono }) => {
    const parent = new Hono();
    parent.use(async (context, next) => {
      await context.req.text();
      await next();
    });
    parent.route("/v1", hono);
    const sizes: unknown[] = [];
    for (const length of [10, 200]) {
      const body = JSON.stringify({ id: "x".repeat(length) });
      sizes.push((await read(await parent.fetch(post("/v1/api/notes", body))))[0]);
    }
    assertEquals(sizes, [201, 413]);
  });
});

Deno.test("a Host that holds a path is refused in a parent, too", async () => {
  await withNotes({}, async ({ hono }) => {
    const parent = new Hono().route("/v1", hono);
    // As a listener makes the URL of the target `/v1/healthz`.
    const url = "http://x/v1/api/notes?/v1/healthz";
    const request = new Request(url, { headers: { host: "x/v1/api/notes?" } });
    assertEquals((await read(await parent.fetch(request)))[0], 400);
  });
});

/** A problem as it is below `/v1`. */
function prefixed(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  // The paths of the index.
  if ("resources" in body) return JSON.parse(JSON.stringify(body).replaceAll('"/api', '"/v1/api'));
  if (!("type" in body)) return body;
  return { ...body, type: `/v1${body.type}` };
}

function typeOf(body: unknown): unknown {
  return typeof body === "object" && body !== null && "type" in body ? body.type : null;
}
