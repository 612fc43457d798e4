import { assertEquals } from "@std/assert";
import { Hono } from "@hono/hono";
import { z } from "zod";
import { all, procedure, resource, table, text, timestamp } from "../../mod.ts";
import { passwordAuth } from "../../exports/auth.ts";
import { openDatabase } from "../../mod.ts";
import { ada, cheapHash, links, ownPage, withAccounts } from "./accounts_support.ts";

const papers = table("papers", { id: text().primaryKey(), deletedAt: timestamp() });
const everything = () => all();
const touch = procedure({
  input: z.unknown(),
  output: z.unknown(),
  handler: () => ({ touched: true }),
});

const writes: readonly (readonly [method: string, path: string])[] = [
  ["POST", "/api/papers"],
  ["PATCH", "/api/papers/1"],
  ["PUT", "/api/papers/1"],
  ["DELETE", "/api/papers/1"],
  ["POST", "/api/papers/1/restore"],
  ["POST", "/api/papers/batch"],
  ["PATCH", "/api/papers/batch"],
  ["PUT", "/api/papers/batch"],
  ["DELETE", "/api/papers/batch"],
  ["POST", "/api/papers/batch/upsert"],
  ["POST", "/api/papers/rpc/touch"],
  ["POST", "/__service/live"],
  ["POST", "/api/auth/logout"],
  ["POST", "/api/auth/logout/all"],
  ["POST", "/api/auth/password/change"],
  ["POST", "/api/auth/login"],
  ["POST", "/api/auth/signup"],
  ["POST", "/api/auth/verify"],
  ["POST", "/api/auth/password/forgot"],
  ["POST", "/api/auth/password/reset"],
];

/** What browsers send from pages of other origins, and what nothing but a program sends. */
const foreign: readonly (readonly [name: string, headers: Record<string, string>])[] = [
  ["another site", { origin: "https://evil.test", "sec-fetch-site": "cross-site" }],
  ["another subdomain", { origin: "http://evil.localhost", "sec-fetch-site": "same-site" }],
  ["another port", { origin: "http://localhost:8080", "sec-fetch-site": "same-site" }],
  ["an older browser", { origin: "https://evil.test" }],
  ["a sandbox", { origin: "null" }],
  ["a name that begins alike", { origin: "http://localhost.evil.test" }],
  ["a name that ends alike", { origin: "http://evillocalhost" }],
  ["several origins", { origin: "http://localhost http://evil.test" }],
];

/** What a page can send without a preflight. */
const bodies: readonly (readonly [type: string | null, body: string | null])[] = [
  ["application/json", "{}"],
  ["text/plain", "{}"],
  ["application/x-www-form-urlencoded", "a=b"],
  [null, null],
];

async function withPapers(
  work: (
    call: (
      method: string,
      path: string,
      headers: Record<string, string>,
      body?: string | null,
    ) => Promise<number>,
    cookie: string,
  ) => Promise<void>,
): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([papers]);
  const config = {
    resources: [
      resource(papers, {
        id: papers.id,
        auth: {
          ...{ read: everything, subscribe: everything },
          ...{ create: everything, update: everything, delete: everything },
        },
        softDelete: { field: papers.deletedAt },
        procedures: { touch },
      }),
    ],
  };
  await withAccounts({ login: { cost: { failed: 0 } } }, async ({ app, signUp, logIn }) => {
    await signUp();
    app.hono.post("/api/own", (context) => context.json({ user: context.get("user")?.id ?? null }));
    await work(async (method, path, headers, body = null) => {
      const answer = await app.fetch(
        new Request(`http://localhost${path}`, { method, headers, body }),
      );
      await answer.body?.cancel();
      return answer.status;
    }, await logIn());
  }, { config, db });
}

Deno.test("a write with a cookie from a foreign page is 403, on every route, by every method and body", async () => {
  await withPapers(async (call, cookie) => {
    const wrong: string[] = [];
    for (
      const [method, path] of [
        ...writes,
        ["POST", "/api/own"] as const,
        ["POST", "/nowhere"] as const,
      ]
    ) {
      for (const [name, headers] of foreign) {
        for (const [type, body] of bodies) {
          const sent = { cookie, ...headers, ...(type === null ? {} : { "content-type": type }) };
          const status = await call(method, path, sent, body);
          if (status !== 403) wrong.push(`${method} ${path} from ${name} as ${type}: ${status}`);
        }
      }
    }
    assertEquals(wrong, []);
    // The session is as it was: no logout has passed.
    assertEquals(await call("GET", "/api/papers", { cookie }), 200);
  });
});

Deno.test("a write with a cookie and without an origin is 403 where the cookie would count", async () => {
  await withPapers(async (call, cookie) => {
    for (const [method, path] of writes.filter(([, path]) => !path.startsWith("/api/auth"))) {
      assertEquals(await call(method, path, { cookie }), 403, `${method} ${path}`);
    }
    for (const path of ["/logout", "/logout/all"]) {
      assertEquals(await call("POST", `/api/auth${path}`, { cookie }), 403);
    }
  });
});

Deno.test("a program logs in, signs up and resets without an origin, which browsers always send", async () => {
  await withAccounts({}, async ({ post, signUp, token }) => {
    // Neither of them sends a header of a page.
    await signUp();
    assertEquals((await post("/api/auth/login", ada)).status, 200);
    assertEquals((await post("/api/auth/password/forgot", { email: ada.email })).status, 202);
    const reset = { token: token(), password: "a new and better password" };
    assertEquals((await post("/api/auth/password/reset", reset)).status === 403, false);
    const hidden = await post("/api/auth/login", ada, { headers: { origin: "null" } });
    assertEquals(hidden.status, 403);
  });
});

Deno.test("a page of the service writes, and a read needs no origin", async () => {
  await withPapers(async (call, cookie) => {
    const json = { "content-type": "application/json" };
    assertEquals(
      await call("POST", "/api/papers", { ...ownPage(cookie), ...json }, '{"id":"1"}'),
      201,
    );
    const older = { cookie, origin: "http://localhost", ...json };
    assertEquals(await call("PATCH", "/api/papers/1", older, "{}"), 200);
    assertEquals(await call("GET", "/api/papers", { cookie, origin: "https://evil.test" }), 200);
    assertEquals(
      await call("POST", "/api/papers/rpc/touch", { ...ownPage(cookie), ...json }, "{}"),
      200,
    );
  });
});

Deno.test("the routes of the deployer's at the same path do not know a user that a foreign page has sent", async () => {
  const seen: unknown[] = [];
  const routes = new Hono<{ Variables: { user: unknown } }>().post("/own", (context) => {
    seen.push(context.get("user") ?? null);
    return context.json({});
  });
  const use = [passwordAuth({ passwords: cheapHash, links, sendMail: () => {} })];
  await withAccounts({}, async ({ post }) => {
    assertEquals((await post("/api/auth/own")).status, 200);
    await post("/api/auth/own", undefined, {
      headers: { cookie: `session=ses_${"A".repeat(43)}`, origin: "https://evil.test" },
    });
    assertEquals(seen, [null, null]);
  }, { config: { auth: { use, routes } } });
});

Deno.test("an origin that cors lists with credentials may write, and no other is reflected", async () => {
  const cors = { origin: ["https://app.example.com"], credentials: true };
  await withAccounts({}, async ({ send, post, signUp, logIn }) => {
    await signUp();
    const cookie = await logIn();
    const from = (origin: string) => ({
      cookie,
      origin,
      "sec-fetch-site": "cross-site",
      "content-type": "application/json",
    });
    const listed = await post("/api/notes", { title: "x" }, {
      headers: from("https://app.example.com"),
    });
    assertEquals(
      [listed.status, listed.headers.get("access-control-allow-origin")],
      [201, "https://app.example.com"],
    );
    const others = [
      ...["https://evil.test", "null", "https://app.example.com.evil.test"],
      ...["http://app.example.com", "https://app.example.com:8443", "https://APP.example.com"],
    ];
    for (const origin of others) {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        const headers = { ...from(origin), "access-control-request-method": "POST" };
        const answer = await send(
          method,
          "/api/notes",
          method === "POST" ? { title: "x" } : undefined,
          {
            headers,
          },
        );
        assertEquals(
          answer.headers.get("access-control-allow-origin"),
          null,
          `${method} ${origin}`,
        );
        if (method === "POST") assertEquals(answer.status, 403, origin);
      }
    }
    const login = await post("/api/auth/login", ada, { headers: from("https://app.example.com") });
    assertEquals(login.status, 200);
  }, { config: { cors } });
});
