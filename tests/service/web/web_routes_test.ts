import { assertEquals, assertRejects } from "@std/assert";
import { Hono } from "@hono/hono";
import { createApp, openDatabase } from "../../../mod.ts";
import type { WebOptions } from "../../../exports/options.ts";
import type { Middleware } from "../../../src/service/middleware.ts";
import { Problem } from "../../../src/problem/problem.ts";
import { scratchFolder } from "../../support/scratch.ts";
import { html, navigation, shown, withPage, writeFiles } from "./web_support.ts";

const files = { "logo.svg": "<svg/>", "hello.txt": "a file" };
const secret = "sixteen or more characters";
const refuse: Middleware = () => Promise.reject(new Problem("unauthorized", "Who?"));

Deno.test("routes of the program come first, and middleware of the program runs for files", () =>
  withPage(files, {
    middleware: [async (context, next) => {
      await next();
      context.header("x-middleware", "ran");
    }],
  }, async ({ app, get }) => {
    app.hono.get("/hello.txt", (context) => context.text("a route"));
    app.hono.get("/deep/:id", (context) => context.text(`route ${context.req.param("id")}`));
    app.hono.use("*", async (context, next) => {
      await next();
      context.header("x-later", "ran");
    });
    assertEquals(await (await get("/hello.txt")).text(), "a route");
    assertEquals(await (await get("/deep/5", navigation)).text(), "route 5");
    for (const path of ["/logo.svg", "/", "/deep/5/more"]) {
      const response = await get(path, navigation);
      assertEquals(shown(response, "x-middleware", "x-later"), [200, "ran", "ran"], path);
      await response.body?.cancel();
    }
    const unknown = await get("/nope.js");
    assertEquals(shown(unknown, "x-middleware"), [404, "ran"]);
    assertEquals((await get("/api/nope", navigation)).status, 404);
  }));

Deno.test("everyone can read the page, whatever the authentication refuses", () =>
  withPage(files, { auth: { middleware: refuse } }, async ({ app, get }) => {
    app.hono.get("/own", (context) => context.text("own"));
    app.hono.get("/own/*", (context) => context.text("own"));
    for (const path of ["/", "/logo.svg", "/deep/link"]) {
      assertEquals((await get(path, navigation, "HEAD")).status, 200, path);
    }
    assertEquals((await get("/nope.js")).status, 404);
    for (const path of ["/api/notes", "/api/nope", "/own", "/own/x", "/__service/schema"]) {
      assertEquals((await get(path, navigation)).status, 401, path);
    }
    assertEquals((await get("/logo.svg", {}, "POST")).status, 401);
    // Now a route of the program responds instead of the page.
    app.hono.all("*", (context) => context.text("own"));
    for (const path of ["/", "/logo.svg", "/deep/link"]) {
      assertEquals((await get(path, navigation)).status, 401, path);
    }
  }));

Deno.test("a page is below the path at which a parent mounts the app", async () => {
  await withPage(files, {}, async ({ app }) => {
    const parent = new Hono();
    parent.route("/v1", app.hono);
    const get = (path: string) =>
      parent.fetch(new Request(`http://localhost${path}`, { headers: navigation }));
    assertEquals(await (await get("/v1/hello.txt")).text(), "a file");
    assertEquals(await (await get("/v1/deep/link")).text(), html);
    assertEquals(await (await get("/v1/")).text(), html);
    for (const path of ["/hello.txt", "/v1/api/nope", "/v1/nope.js", "/v1/%2e%2e/hello.txt"]) {
      assertEquals((await get(path)).status, 404, path);
    }
    assertEquals(
      (await (await get("/v1/nope.js")).json()).type,
      "/v1/__service/problems/not-found",
    );
  });
  await withPage(files, { mountedAt: "/v1" }, async ({ app, get }) => {
    const parent = new Hono().mount("/v1", app.fetch);
    const mounted = await parent.fetch(new Request("http://localhost/v1/hello.txt"));
    assertEquals(await mounted.text(), "a file");
    assertEquals(await (await get("/deep", navigation)).text(), html);
    assertEquals((await (await get("/x.js")).json()).type, "/v1/__service/problems/not-found");
  });
});

Deno.test("an app without a page responds as before", async () => {
  await using scratch = await scratchFolder();
  await writeFiles(scratch.path, { "index.html": html });
  const db = await openDatabase("sqlite::memory:");
  const app = await createApp({ db, secret, resources: [] });
  assertEquals([app.hangUp, app.hono.routes.length > 0], [undefined, true]);
  const request = new Request("http://localhost/index.html", { headers: navigation });
  assertEquals((await app.fetch(request)).status, 404);
  await app.close();
  await db.close();
});

Deno.test("a page that cannot be served fails the start, and the error says what to do", async () => {
  await using scratch = await scratchFolder();
  const { path } = scratch;
  await writeFiles(path, { "web/package.json": "{}", "empty/x.txt": "", "file": "" });
  const db = await openDatabase("sqlite::memory:");
  const build = `npm --prefix ${path}/web run build`;
  const first = "build the page first";
  const dist = `${path}/web/dist`;
  const dev = "http://localhost:5173";
  const cases: readonly (readonly [web: string | WebOptions, config: object, message: string])[] = [
    [dist, {}, `web.folder is ${dist}, which is not there (${build})`],
    [`${path}/gone`, {}, `web.folder is ${path}/gone, which is not there (${first})`],
    [`${path}/file`, {}, `web.folder is ${path}/file, which is not a folder (${first})`],
    [`${path}/empty`, {}, `web.folder is ${path}/empty, which contains no index.html (${first})`],
    [
      { folder: path, dev },
      { env: "production" },
      "web.dev is only for development: in production, serve the built page",
    ],
    [
      dist,
      { basePath: "" },
      'web needs a basePath, like "/api", because below "" every path is of the API',
    ],
    [
      { folder: path, csp: { "scrip-src": "'self'" } },
      {},
      'web.csp has no directive "scrip-src": did you mean "script-src"?',
    ],
    [
      { folder: path, csp: { "img-src": "a; script-src *" } },
      {},
      'web.csp.img-src must be sources like "\'self\' https://cdn.example", not "a; script-src *"',
    ],
    [
      { folder: path, spa: "/index.html" },
      {},
      'web.spa must be the path of a file in the folder or false, not "/index.html"',
    ],
  ];
  for (const [web, config, message] of cases) {
    // A start that fails leaves no timer of the metrics.
    const options = { db, secret, observability: true, resources: [], web, ...config };
    const error = await assertRejects(() => createApp(options), Error);
    assertEquals(error.message, `Cannot start: ${message}`);
  }
  await db.close();
});

Deno.test("with dev, the page comes from Vite, and its paths are those of the built page", async () => {
  const page = `<script type="module">inject()</script>`;
  const asked: string[] = [];
  const vite = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    const kept = ["cookie", "authorization", "x-api-key", "sec-fetch-mode"]
      .filter((name) => request.headers.has(name));
    asked.push([request.method, pathname + search, ...kept].join(" "));
    if (pathname === "/moved") return Response.redirect("http://localhost:5173/base/", 302);
    if (/\.tsx?$/.test(pathname)) {
      return new Response("let a", {
        headers: { "content-type": "text/javascript", etag: 'W/"1"' },
      });
    }
    return new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } });
  });
  const dev = `http://127.0.0.1:${vite.addr.port}`;
  try {
    await withPage(files, { web: { folder: "", dev } }, async ({ app, get }) => {
      app.hono.get("/own", (context) => context.text("own"));
      const secrets = { cookie: "a=b", authorization: "Bearer x", "x-api-key": "k" };
      const shell = await get("/deep/link?x=1", { ...navigation, ...secrets });
      assertEquals(await shell.text(), page);
      const policy = shell.headers.get("content-security-policy") ?? "";
      assertEquals(
        /script-src [^;]* 'sha256-[^;]+'; .*connect-src 'self' ws: wss:/.test(policy),
        true,
      );
      const module = await get("/src/main.tsx?t=2");
      assertEquals(shown(module, "content-type", "etag"), [200, "text/javascript", 'W/"1"']);
      assertEquals(await module.text(), "let a");
      const moved = await get("/moved");
      assertEquals(shown(moved, "location"), [302, "http://localhost:5173/base/"]);
      await moved.body?.cancel();
      assertEquals((await get("/logo.svg", {}, "HEAD")).status, 200);
      assertEquals(await (await get("/own")).text(), "own");
      for (const path of ["/api/nope", "/__service/nope", "/healthz/x", "/%61pi/nope"]) {
        assertEquals((await get(path, navigation)).status, 404, path);
      }
      assertEquals((await get("/x", {}, "POST")).status, 404);
      assertEquals(asked, [
        ...["GET /deep/link?x=1 sec-fetch-mode", "GET /src/main.tsx?t=2", "GET /moved"],
        "HEAD /logo.svg",
      ]);
    });
  } finally {
    await vite.shutdown();
  }
  await withPage(files, { web: { folder: "", dev } }, async ({ get }) => {
    const response = await get("/", navigation);
    assertEquals(shown(response, "content-type", "cache-control"), [
      ...[502, "application/problem+json", "no-store"],
    ]);
    const { code, detail } = await response.json();
    assertEquals(code, "HTTP_502");
    assertEquals(detail, `Cannot reach web.dev at ${dev}: start Vite, for example by npm run dev`);
  });
});
