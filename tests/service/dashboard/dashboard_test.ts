import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { type AppConfig, createApp, openDatabase, type User } from "../../../mod.ts";
import type { AuditEntry } from "../../../src/service/dashboard/operator_audit.ts";
import { type Dashboard, type SendOptions, withDashboard } from "./dashboard_support.ts";

/** Every kind of path that the dashboard has, and spellings that might lead past its door. */
const paths: readonly (readonly [method: string, path: string])[] = [
  ...["", "/", "/app.js", "/app.css", "/api/notes", "/api/notes/1", "/api/notes/subscribe"]
    .map((path) => ["GET", path] as const),
  ...["/api/notes/count", "/api/notes/export", "/as/api/notes", "/report/metrics", "/nothing"]
    .map((path) => ["GET", path] as const),
  ...["/%61pi/notes", "//api/notes", "/api//notes", "/as/../api/notes", "/API/notes"]
    .map((path) => ["GET", path] as const),
  ...["HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"].map((method) =>
    [method, "/api/notes/1"] as const
  ),
  ...["/api/notes", "/__service/live", "/as/__service/live", "/action/view-as", "/action/nothing"]
    .map((path) => ["POST", path] as const),
];

const strangers: readonly SendOptions[] = [
  { address: "10.0.0.1" },
  { address: "" },
  { headers: { host: "rebound.example" } },
  { headers: { "x-forwarded-for": "10.0.0.1" } },
  { headers: { "sec-fetch-site": "cross-site" } },
];

Deno.test("without authorize every header that a proxy may have added closes the dashboard", () =>
  withDashboard(async ({ send }) => {
    const names = [
      "X-Forwarded-Proto|X-Forwarded-Host|X-Forwarded-Server|X-Forwarded|Forwarded-For|Forwarded",
      "CF-Connecting-IP|CF-Ray|CF-Visitor|CDN-Loop|True-Client-IP|X-Client-IP|X-Cluster-Client-Ip",
      "X-Original-Host|X-Original-URL|X-Real-IP|X-Request-ID|X-Envoy-External-Address|Via",
      "X-Azure-FDID|X-Azure-ClientIP|X-ARR-SSL|Fly-Client-IP|Fastly-Client-IP|Max-Forwards",
      "X-Amzn-Trace-Id|X-Cloud-Trace-Context|X-Appengine-User-IP|X-Vercel-Forwarded-For",
      "X-Remote-User|X-Auth-Request-User|Remote-User|Tailscale-User-Login|Proxy-Connection",
      "WL-Proxy-Client-IP|Client-IP|Ali-CDN-Real-IP|X-A-Header-That-Nobody-Knows",
    ].join("|").split("|");
    const options: SendOptions[] = [
      ...names.map((name) => ({ headers: { [name]: "1" } })),
      { headers: { origin: "https://db.example.com", "sec-fetch-site": "same-origin" } },
      { headers: { referer: "https://db.example.com/__service/ui", "sec-fetch-site": "none" } },
    ];
    for (const one of options) {
      for (const path of ["", "/api/notes", "/report/overview"]) {
        assertEquals((await send("GET", path, one)).status, 403, JSON.stringify(one));
      }
      assertEquals((await send("POST", "/api/notes", one)).status, 403, JSON.stringify(one));
    }
  }));

Deno.test("without authorize what browsers and programs of this machine send passes", () =>
  withDashboard(async ({ send }) => {
    const browser = {
      "accept": "*/*",
      "accept-encoding": "gzip, br, zstd",
      "accept-language": "en",
      "cache-control": "no-cache",
      "connection": "keep-alive",
      "cookie": "session=1",
      "dnt": "1",
      "if-none-match": '"1"',
      "pragma": "no-cache",
      "priority": "u=1, i",
      "save-data": "on",
      "sec-ch-ua-platform": '"Linux"',
      "sec-fetch-mode": "cors",
      "sec-fetch-site": "same-origin",
      "sec-gpc": "1",
      "service-optimistic-id": "1",
      "upgrade-insecure-requests": "1",
      "user-agent": "Mozilla/5.0",
      "x-prometheus-scrape-timeout-seconds": "10",
      "origin": "http://localhost:8000",
      "referer": "http://localhost:8000/__service/ui",
    };
    assertEquals((await send("GET", "/api/notes", { headers: browser })).status, 200);
  }));

Deno.test("without authorize this machine alone may use the dashboard, in development", () =>
  withDashboard(async ({ send }) => {
    for (const stranger of strangers) {
      for (const [method, path] of paths) {
        const { status } = await send(method, path, stranger);
        assert([401, 403, 404].includes(status), `${method} ${path} ${status}`);
      }
    }
    // A browser without Fetch Metadata, which posts a form of another site.
    const headers = { host: "localhost", origin: "https://evil.example" };
    const posted = await send("POST", "/action/view-as", { headers, body: { user: null } });
    assertEquals(posted.status, 403);
    assertEquals((await send("GET", "")).status, 200);
    assertEquals((await send("GET", "/api/notes")).status, 200);
  }));

Deno.test("with roles everyone logs in, also on this machine, and a role decides about writes", () =>
  withDashboard(async ({ send, ask }) => {
    const open = new Set(["", "/", "/app.js", "/app.css"]);
    const others = [
      {},
      { "x-user": "ada" },
      { "x-user": "ada", "x-roles": "Operator,viewers, operator" },
      { "x-user": "ada", "x-roles": "" },
      { "x-user": "ada", "x-roles-text": "operator" },
      { authorization: "Basic b3BlcmF0b3I6b3BlcmF0b3I=" },
    ];
    for (const headers of others) {
      for (const [method, path] of paths) {
        const { status } = await send(method, path, { headers });
        if (open.has(path) && method === "GET") assertEquals(status, 200, path);
        else assert([401, 403].includes(status), `${method} ${path} ${status}`);
      }
    }
    const anonymous = await ask("GET", "/report/service");
    assertEquals([anonymous.status, anonymous.body.details], [401, { login: null }]);
    // The page of a user without a role asks for another account.
    const without = await ask("GET", "/report/service", { headers: { "x-user": "ada" } });
    assertEquals([without.status, without.body.details], [403, { login: null }]);
    assertStringIncludes(without.body.detail, "ada");

    const viewer = { "x-user": "vera", "x-roles": "staff,viewer" };
    const editor = { "x-user": "otto", "x-roles": "operator", "x-forwarded-for": "10.0.0.1" };
    const factsOf = async (headers: Record<string, string>) => {
      const { body } = await ask("GET", "/report/service", { headers, address: "10.0.0.1" });
      return [body.operator, body.isReadOnly, body.logout];
    };
    assertEquals(await factsOf(viewer), ["vera", true, null]);
    assertEquals(await factsOf(editor), ["otto", false, null]);
    const body = { title: "changed" };
    for (const [method, path] of paths) {
      const isWrite = !["GET", "HEAD"].includes(method) && path.startsWith("/api");
      const sent = isWrite ? { headers: viewer, body } : { headers: viewer };
      const { status } = await send(method, path, sent);
      assertEquals(status === 403, isWrite, `${method} ${path} ${status}`);
    }
    const elsewhere = { ...editor, "sec-fetch-site": "cross-site" };
    assertEquals((await send("PATCH", "/api/notes/1", { headers: elsewhere, body })).status, 403);
    assertEquals((await send("GET", "/api/notes/1", { headers: elsewhere })).status, 403);
    assertEquals((await send("PATCH", "/api/notes/1", { headers: editor, body })).status, 200);
    const { body: audit } = await ask("GET", "/report/audit", { headers: viewer });
    assertEquals(audit.entries.map(({ user, path }: AuditEntry) => [user, path]), [
      ["otto", "/api/notes/1"],
    ]);
    // The audit of each user is not that of another service, and rights are looked up each time.
    const demoted = { ...editor, "x-roles": "viewer" };
    assertEquals((await send("PATCH", "/api/notes/1", { headers: demoted, body })).status, 403);
  }, {
    env: "production",
    adminUI: { roles: { edit: ["operator"], read: ["viewer"] } },
    auth: {
      middleware: async ({ req, set }, next) => {
        const id = req.header("x-user");
        const roles = req.header("x-roles-text") ?? req.header("x-roles")?.split(",");
        // The cast is the test: a program in JavaScript can set a string.
        if (id !== undefined) set("user", { id, roles } as User);
        await next();
      },
    },
  }));

Deno.test("who may use the dashboard is said by one option, and in production by one at least", async () => {
  const cases: readonly (readonly [adminUI: AppConfig["adminUI"], message: string])[] = [
    [true, "adminUI.roles must be set in production"],
    [{ authorize: () => true, roles: { edit: ["a"] } }, "adminUI takes authorize or roles"],
    [{ roles: {} }, "adminUI.roles names no role"],
    [{ roles: { edit: [""] } }, "adminUI.roles.edit"],
  ];
  const db = await openDatabase("sqlite::memory:");
  for (const [adminUI, message] of cases) {
    const secret = "a secret for the tests only";
    const open = () => createApp({ db, secret, adminUI, env: "production", resources: [] });
    const error = await assertRejects(open, Error);
    assertStringIncludes(error.message, message);
  }
  await db.close();
});

Deno.test("authorize decides about everyone, only by true, and not for pages of other origins", () =>
  withDashboard(async ({ send }) => {
    const statusOf = async (headers: Record<string, string>, path = "/api/notes") =>
      (await send("GET", path, { headers, address: "10.0.0.1" })).status;
    const basic = { authorization: "Basic b3A6cHc=" };
    assertEquals(await statusOf(basic), 200);
    assertEquals(await statusOf({ "x-user": "root" }), 200);
    for (const [method, path] of paths) {
      for (const headers of [{}, { "x-user": "ada" }, { authorization: "Basic text" }]) {
        const { status } = await send(method, path, { headers });
        assert([401, 403, 404].includes(status), `${method} ${path} ${status}`);
      }
    }
    const refused = await send("GET", "");
    assertStringIncludes(refused.headers.get("www-authenticate") ?? "", "Basic");
    await refused.body?.cancel();
    const elsewhere = { ...basic, "sec-fetch-site": "cross-site" };
    assertEquals(await statusOf(elsewhere), 403);
    assertEquals(await statusOf(elsewhere, ""), 200, "a link may lead to the page");
    const origin = { ...basic, host: "localhost", origin: "https://evil.example" };
    assertEquals((await send("POST", "/api/notes", { headers: origin, body: {} })).status, 403);
  }, {
    env: "production",
    adminUI: {
      authorize: ({ headers }, user) => {
        const given = headers.get("authorization");
        // A text is not true: it was not meant to allow anything.
        if (given === "Basic text") return "yes" as unknown as boolean;
        return given === "Basic b3A6cHc=" || user?.id === "root";
      },
    },
  }));

Deno.test("in production the start fails without authorize", async () => {
  const db = await openDatabase("sqlite::memory:");
  const config: AppConfig = { db, resources: [], adminUI: true, env: "production" };
  const secret = "a secret for the tests only";
  await assertRejects(() => createApp({ ...config, secret }), Error, "adminUI.authorize");
  await db.close();
});

Deno.test("the page allows its own files alone, and no markup from a text", () =>
  withDashboard(async ({ send }) => {
    for (const path of ["", "/"]) {
      const page = await send("GET", path);
      const policy = page.headers.get("content-security-policy") ?? "";
      for (const part of ["default-src 'none'", "script-src 'self'", "trusted-types 'none'"]) {
        assertStringIncludes(policy, part);
      }
      assert(!policy.includes("unsafe"));
      assertStringIncludes(await page.text(), path === "" ? 'src="ui/app.js"' : 'src="app.js"');
    }
  }));

Deno.test("the operator reads and changes every row, by the ordinary routes, but no hidden column", () =>
  withDashboard(async ({ ask, send, db }) => {
    const list = await ask("GET", "/api/notes");
    assertEquals(list.body.items, [
      { id: 1, title: "of ada", owner: "ada", version: 1 },
      { id: 2, title: "of bob", owner: "bob", version: 1 },
    ]);
    assertEquals((await ask("GET", "/api/notes?filter=hash==h1")).status, 400);
    assertEquals((await ask("GET", "/api/notes?select=id,hash")).status, 400);
    const headers = { "if-match": 'W/"1"' };
    const body = { owner: "eve" };
    const changed = await ask("PATCH", "/api/notes/1", { headers, body });
    assertEquals([changed.status, changed.body.owner], [200, "eve"]);
    assertEquals((await ask("PATCH", "/api/notes/1", { headers, body })).status, 412);
    await ask("PATCH", "/api/notes/1", { body: { hash: "x" } });
    assertEquals((await db.sql`SELECT hash FROM notes WHERE id = 1`).rows[0], { hash: "h1" });
    const created = await ask("POST", "/api/notes", { body: { title: "new", owner: "ada" } });
    assertEquals(created.headers.get("location"), `/__service/ui/api/notes/${created.body.id}`);
    assertEquals((await ask("DELETE", `/api/notes/${created.body.id}`)).status, 204);
    const { entries } = (await ask("GET", "/report/audit")).body;
    assertEquals(
      entries.map(({ method, path, status, user }: Record<string, unknown>) => [
        ...[method, path, status, user],
      ]),
      [
        ["DELETE", `/api/notes/${created.body.id}`, 204, null],
        ["POST", "/api/notes", 201, null],
        ["PATCH", "/api/notes/1", 200, null],
        ["PATCH", "/api/notes/1", 412, null],
        ["PATCH", "/api/notes/1", 200, null],
      ],
    );
    const { type } = (await ask("GET", "/api/notes/99")).body;
    assertEquals((await send("GET", type, { below: "" })).status, 200, type);
    // The service itself is as it was.
    const outside = { below: "", headers: { "x-user": "ada" } };
    assertEquals((await ask("POST", "/api/notes", { ...outside, body: {} })).status, 403);
    assertEquals((await ask("GET", "/api/notes", outside)).body.items, []);
  }));

Deno.test("a read-only dashboard refuses every write, and gives views all the same", () =>
  withDashboard(async ({ ask }) => {
    for (const [method, path] of [["POST", "/api/notes"], ["PATCH", "/api/notes/1"]] as const) {
      assertEquals((await ask(method, path, { body: { title: "x" } })).status, 403);
    }
    assertEquals((await ask("DELETE", "/api/notes/1")).status, 403);
    assertEquals((await ask("GET", "/api/notes")).body.items.length, 2);
    assertEquals(
      (await ask("POST", "/action/view-as", { body: { user: { id: "a" } } })).status,
      200,
    );
  }, { adminUI: { readOnly: true } }));

Deno.test("a viewed user sees what that user sees, and nothing is written as them", () =>
  withDashboard(async ({ ask, send }) => {
    const view = async (id: string) =>
      (await ask("POST", "/action/view-as", { body: { user: { id } } })).body.token;
    const headers = { "service-view-as": await view("ada") };
    const { body } = await ask("GET", "/as/api/notes", { headers });
    assertEquals(body.items.map(({ title }: { title: string }) => title), ["of ada"]);
    assertEquals((await ask("GET", "/as/api/notes/2", { headers })).status, 404);
    assertEquals((await ask("GET", "/as/api/notes?filter=owner==bob", { headers })).body.items, []);
    assertEquals((await ask("GET", "/as/api/notes/count", { headers })).body.count, 1);
    // The credentials of the operator change nothing.
    const both = { ...headers, cookie: "session=x", authorization: "Bearer x" };
    assertEquals((await ask("GET", "/as/api/notes", { headers: both })).body, body);
    for (const method of ["POST", "PATCH", "PUT", "DELETE"]) {
      const path = method === "POST" ? "/as/api/notes" : "/as/api/notes/1";
      assertEquals((await ask(method, path, { headers, body: { title: "x" } })).status, 403);
    }
    for (const wrong of ["", "x", headers["service-view-as"].slice(0, -2)]) {
      const { status } = await ask("GET", "/as/api/notes", {
        headers: { "service-view-as": wrong },
      });
      assertEquals(status, 401);
    }
    assertEquals(await firstRows(send, "/as/__service/live", headers), ["of ada"]);
    assertEquals(await firstRows(send, "/__service/live", {}), ["of ada", "of bob"]);
    const anyone = (await ask("POST", "/action/view-as", { body: { user: null } })).body.token;
    const asAnyone = { headers: { "service-view-as": anyone } };
    assertEquals((await ask("GET", "/as/api/notes", asAnyone)).status, 401);
    // The token is nothing outside.
    assertEquals((await ask("GET", "/api/notes", { below: "", headers })).status, 401);
    for (
      const body of [null, {}, { user: "ada" }, { user: {} }, { user: { id: 7 } }, {
        user: { id: "ada", claims: { note: "x".repeat(20_000) } },
      }]
    ) {
      assertEquals((await ask("POST", "/action/view-as", { body })).status, 400);
    }
  }));

Deno.test("a view ends with its token, and so do its live streams", () => {
  const real = systemRuntime(() => {});
  let ahead = 0;
  const clock = { ...real.clock, now: () => real.clock.now() + ahead };
  return withDashboard(async ({ ask, send }) => {
    ahead = -599_000;
    const { body } = await ask("POST", "/action/view-as", { body: { user: { id: "ada" } } });
    ahead = 0;
    const headers = { "service-view-as": body.token };
    const subscriptions = [{ key: "a", path: "/api/notes/subscribe" }];
    const stream = await send("POST", "/as/__service/live", { headers, body: { subscriptions } });
    // The timer of the stream does not keep a process alive.
    const alive = setInterval(() => {}, 1_000);
    assertStringIncludes(await stream.text(), '{"type":"ended","key":"a"}');
    clearInterval(alive);
    assertEquals((await ask("GET", "/as/api/notes", { headers })).status, 401);
  }, { runtime: { ...real, environment: (name) => real.environment(name), clock } });
});

/** Opens a stream below `path`, and returns a function that reads until some text was received. */
async function openStream(
  { send, ask }: Dashboard,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<(wanted: string) => Promise<void>> {
  const { body: { token } } = await ask("POST", "/action/view-as", {
    headers,
    body: { user: { id: "bob" } },
  });
  const stream = await send("POST", path, {
    headers: { ...headers, "service-view-as": token },
    body: { subscriptions: [{ key: "a", path: "/api/notes/subscribe" }] },
  });
  assertEquals(stream.status, 200, path);
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  let received = "";
  return async function read(wanted) {
    while (!received.includes(wanted)) {
      const { value, done } = await reader!.read();
      assert(!done, `${path} ended without ${wanted}: ${received}`);
      received += value;
    }
  };
}

const livePaths = ["/__service/live", "/as/__service/live"];

Deno.test("streams of the dashboard and of its views end when the operator has no role any more", () => {
  let user: User = { id: "otto", roles: ["operator"] };
  return withDashboard(async (dashboard) => {
    const { send } = dashboard;
    const headers = { "x-operator": "otto" };
    const alive = setInterval(() => {}, 1_000);
    const reads = await Promise.all(livePaths.map((path) => openStream(dashboard, path, headers)));
    for (const read of reads) await read("of bob");
    user = { id: "otto", roles: ["viewer"] };
    assertEquals(
      (await send("PATCH", "/api/notes/1", { headers, body: { title: "x" } })).status,
      403,
    );
    user = { id: "otto", roles: [] };
    for (const read of reads) await read('{"type":"ended","key":"a"}');
    clearInterval(alive);
    assertEquals((await send("GET", "/api/notes", { headers })).status, 403);
  }, {
    adminUI: { roles: { edit: ["operator"], read: ["viewer"] } },
    auth: {
      recheckMs: 20,
      use: [{
        name: "test",
        identify: ({ headers }) => headers.has("x-operator") ? { user, renew: () => user } : null,
      }],
    },
  });
});

Deno.test("streams of the dashboard and of its views end with the session of the operator", async () => {
  const user: User = { id: "otto", roles: ["operator"] };
  const options: readonly AppConfig["adminUI"][] = [
    { roles: { edit: ["operator"] } },
    { authorize: (_request, caller) => caller !== null },
  ];
  for (const adminUI of options) {
    let current: User | null = user;
    await withDashboard(async (dashboard) => {
      const headers = { "x-operator": "otto" };
      const alive = setInterval(() => {}, 1_000);
      const reads = await Promise.all(
        livePaths.map((path) => openStream(dashboard, path, headers)),
      );
      for (const read of reads) await read("of bob");
      current = null;
      for (const read of reads) await read('{"type":"ended","key":"a"}');
      clearInterval(alive);
    }, {
      adminUI,
      auth: {
        recheckMs: 20,
        use: [{
          name: "test",
          identify: ({ headers }) =>
            headers.has("x-operator") && current !== null ? { user, renew: () => current } : null,
        }],
      },
    });
  }
});

Deno.test("no browser stores a response with rows, which it would show after a logout", () =>
  withDashboard(async ({ send, ask }) => {
    const { body } = await ask("POST", "/action/view-as", { body: { user: { id: "ada" } } });
    const headers = { "service-view-as": body.token };
    const accepts = ["application/json", "application/json;numbers=safe", "text/csv"];
    for (const accept of [...accepts, "application/x-ndjson", "text/event-stream"]) {
      for (const start of ["/api", "/as/api"]) {
        for (const path of ["/notes", "/notes/1", "/notes/count", "/notes/subscribe", "/nothing"]) {
          const response = await send("GET", start + path, { headers: { ...headers, accept } });
          const rule = response.headers.get("cache-control") ?? "";
          assertEquals(rule.split(", ")[0], "no-store", `${start}${path} ${accept} ${rule}`);
          await response.body?.cancel();
        }
      }
    }
    const written = await send("PATCH", "/api/notes/1", {
      headers: { "if-match": '"1"' },
      body: { title: "x" },
    });
    assertEquals(written.headers.get("cache-control"), "no-store", await written.text());
  }));

/** The titles of the first event of a stream of all notes. */
async function firstRows(
  send: Dashboard["send"],
  path: string,
  headers: Record<string, string>,
): Promise<readonly string[]> {
  const body = { subscriptions: [{ key: "a", path: "/api/notes/subscribe" }] };
  const response = await send("POST", path, { headers, body });
  assert(response.body !== null);
  let received = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    received += text;
    const found = /event: existing\ndata: (.*)\n/.exec(received);
    if (found === null) continue;
    return JSON.parse(found[1] ?? "").items.map(({ title }: { title: string }) => title);
  }
  throw new Error(`No rows in ${received}`);
}
