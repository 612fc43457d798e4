import { assertEquals, assertMatch } from "@std/assert";
import { Hono } from "@hono/hono";
import { all } from "../../src/filter/builders.ts";
import type { AppEnv } from "../../src/service/middleware.ts";
import { engines } from "../support/engines.ts";
import { insertRows, testOnDialects } from "../support/http.ts";
import { openMultiplexed, readMultiplexed } from "./multiplexed_support.ts";
import { ada, notes, withNotes } from "./notes.ts";

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

const path = "/api/notes/subscribe";
const live = "/__service/live";
const subscriptions = [{ key: "a", path }];

Deno.test("a body that is no list of subscriptions is refused as a whole", () =>
  withNotes(sqlite, {}, async ({ send }) => {
    const detail = async (body: unknown) => {
      const answer = await send("POST", live, body);
      assertEquals([answer.status, answer.body.code], [400, "INVALID_BODY"], JSON.stringify(body));
      return [answer.body.detail, answer.body.details];
    };
    const many = Array.from({ length: 51 }, (_, n) => ({ key: `${n}`, path }));
    assertEquals(await detail({ subscriptions: many }), [
      "Cannot use this body: it has more than 50 subscriptions",
      { limit: 50 },
    ]);
    for (const body of [[], {}, 1, null, { subscriptions: [] }, { subscriptions: {} }, "{"]) {
      await detail(body);
    }
    for (
      const one of [
        null,
        { path },
        { key: "", path },
        { key: "é", path },
        { key: "a".repeat(65), path },
        { key: 1, path },
        { key: "b" },
        { key: "b", path: "api/notes/subscribe" },
        { key: "b", path: "https://other.example/api/notes/subscribe" },
        { key: "a", path },
        { key: "b", path, resumeFrom: "a\nb" },
        { key: "b", path, resumeFrom: 1 },
      ]
    ) {
      const [, details] = await detail({ subscriptions: [{ key: "a", path }, one] });
      assertEquals(details, { index: 1 }, JSON.stringify(one));
    }
    const asText = await send("POST", live, "{}", { "content-type": "text/plain" });
    assertEquals(asText.status, 415);
    const large = await send("POST", live, { subscriptions, more: "x".repeat(3_000_000) });
    assertEquals(large.status, 413);
  }));

Deno.test("the route answers POST alone, and is not there without a resource to follow", async () => {
  await withNotes(sqlite, {}, async ({ send, app }) => {
    for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE"]) {
      const { status, headers } = await send(method, live);
      assertEquals([status, headers.get("allow")], [405, "POST"], method);
    }
    const operation = Object(app.openapi()["paths"])[live];
    assertEquals(Object.keys(operation), ["post"]);
  });
  await withNotes(sqlite, { capabilities: { enableSubscribe: false } }, async ({ send, app }) => {
    assertEquals((await send("POST", live, { subscriptions })).status, 404);
    assertEquals(Object(app.openapi()["paths"])[live], undefined);
  });
});

Deno.test("a stream has the headers of a stream, and sends its first bytes at once", () =>
  withNotes(sqlite, {}, async (service) => {
    const stream = await openMultiplexed(service, subscriptions, {
      headers: { origin: "https://shop.example" },
    });
    const { headers } = stream.response;
    assertEquals(
      ["content-type", "cache-control", "x-accel-buffering", "access-control-allow-origin"]
        .map((name) => headers.get(name)),
      ["text/event-stream; charset=utf-8", "no-store, no-transform", "no", "https://shop.example"],
    );
    await stream.until(() => stream.blocks.length > 0);
    assertEquals(stream.blocks[0], ":");
    await stream.close();
  }, { cors: { origin: "https://shop.example" } }));

testOnDialects(
  "the stream counts as one, and its filters as their sum",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { get, send } = service;
      const dear = (n: number) => ({
        key: `${n}`,
        path: `${path}?filter=${
          Array.from(
            { length: 5 },
            (_, one) => encodeURIComponent(`title%="%${"_".repeat(90)}${n}${one}zzz%"`),
          ).join(",")
        }`,
      });
      const stream = await openMultiplexed(service, [dear(1), dear(2), dear(3), dear(4)], {
        headers: ada,
      });
      // As for streams of their own, the third of a client.
      await stream.until(() => stream.refused.size === 2 && stream.texts.size === 2);
      for (const { status, problem } of stream.refused.values()) {
        assertEquals([status, Object(problem).code], [422, "QUERY_TOO_EXPENSIVE"]);
      }
      const refused = await send("POST", live, { subscriptions }, ada);
      assertEquals([refused.status, refused.headers.get("retry-after")], [429, "15"]);
      assertEquals((await get(path, ada)).status, 429);
      await stream.close();
      const again = await openMultiplexed(service, [dear(5), { key: "b", path }], { headers: ada });
      await again.until(() => again.texts.size === 2);
      await again.close();
    }, { subscribe: { maxPerUser: 1 } }),
);

Deno.test("each subscription is counted against the limits of its route, and passes its middlewares", async () => {
  const seen: string[] = [];
  await withNotes(sqlite, { rateLimit: { windowMs: 60_000, maxRequests: 2 } }, async (service) => {
    const asked = ["a", "b", "c"].map((key) => ({ key, path: `${path}?filter=title==${key}` }));
    const stream = await openMultiplexed(service, [
      ...asked,
      { key: "closed", path: `${path}?filter=title==closed` },
    ], { headers: { ...ada, "x-note": "seen" } });
    await stream.until(() => stream.refused.size === 2 && stream.texts.size === 2);
    const { problem, ...closed } = stream.refused.get("closed") ?? {};
    assertEquals(closed, { type: "refused", key: "closed", status: 403, retryAfter: null });
    assertEquals(Object(problem).code, "FORBIDDEN");
    const [limited] = [...stream.refused.values()].filter(({ status }) => status === 429);
    assertEquals(Object(limited?.["problem"]).code, "RATE_LIMIT_EXCEEDED");
    assertEquals(typeof limited?.["retryAfter"], "number");
    await stream.close();
    assertEquals(seen.slice(0, 2), ["POST /__service/live seen", `GET ${path} seen`]);
  }, {
    middleware: [async (context, next) => {
      seen.push(`${context.req.method} ${context.req.path} ${context.req.header("x-note")}`);
      const isClosed = context.req.query("filter") === "title==closed";
      return isClosed ? context.text("no", 403) : await next();
    }],
  });
});

Deno.test("below another app, its user and its path are those of every subscription", () =>
  withNotes(sqlite, {
    auth: { subscribe: (user) => user.id === "eve" ? all() : all(), update: () => all() },
  }, async ({ app, db }) => {
    await insertRows(db, notes, [{ id: 1, title: "a", version: 1 }]);
    const parent = new Hono<AppEnv>();
    parent.use("*", async (context, next) => {
      if (context.req.header("x-parent") !== undefined) context.set("user", { id: "eve" });
      await next();
    });
    parent.route("/v1", app.hono);
    const open = async (headers: Record<string, string>) => {
      const aborting = new AbortController();
      const request = new Request(`http://test/v1${live}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({
          subscriptions: [...subscriptions, { key: "b", path: "/v1/api/x" }],
        }),
        signal: aborting.signal,
      });
      return readMultiplexed(await parent.fetch(request), aborting);
    };
    const stream = await open({ "x-parent": "yes" });
    await stream.until(() =>
      stream.texts.get("a")?.includes('"title":"a"') === true && stream.refused.has("b")
    );
    assertMatch(
      JSON.stringify(stream.refused.get("b")),
      /"type":"\/v1\/__service\/problems\/not-fo/,
    );
    await stream.close();
    const refused = await open({});
    await refused.untilEnd();
    const problem = JSON.stringify(refused.refused.get("a"));
    assertMatch(problem, /"type":"\/v1\/__service\/problems\/unauthorized"/);
  }, { auth: {} }));
