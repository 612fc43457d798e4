import { assert, assertEquals } from "@std/assert";
import { all, createApp, openDatabase, resource } from "../../../mod.ts";
import type { Observation } from "../../../exports/runtime.ts";
import type { RequestObservation } from "../../../exports/runtime.ts";
import { consoleObserver } from "../../../src/runtime/console_observer.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { notes, withObservedService } from "./observed_service.ts";

const requestsOf = (seen: readonly Observation[]): readonly RequestObservation[] =>
  seen.filter((one) => one.kind === "request");

Deno.test("each request is observed with its route and path, and never with its query", async () => {
  const seen: Observation[] = [];
  await withObservedService({
    observability: { requests: true },
    observe: (one) => void seen.push(one),
    middleware: [async (context, next) => {
      await next();
      if (context.req.path === "/nothing") context.header("x-request-id", "made-here");
    }],
  }, async ({ send, value }) => {
    const body = { title: "x" };
    await send("POST", "/api/notes", { body, headers: { "x-user": "ann" } });
    await send("GET", "/api/notes/1?select=id", { headers: { "x-request-id": "abc-1" } });
    await send("GET", "/api/notes?filter=title==secret", { headers: { "x-request-id": "a b" } });
    await send("BREW", "/nothing?secret", { headers: { "x-request-id": "sent" } });
    await send("GET", "/healthz");
    await send("GET", "/readyz");
    const stream = await send("GET", "/api/notes/subscribe?filter=title==secret", {
      isStream: true,
    });
    const told = requestsOf(seen);
    await stream.body?.cancel();
    assertEquals(
      told.map(({ method, route, path, status, requestId }) => [
        ...[method, route, path, status, requestId],
      ]),
      [
        ["POST", "/api/notes", "/api/notes", 201, null],
        ["GET", "/api/notes/:id", "/api/notes/1", 200, "abc-1"],
        ["GET", "/api/notes", "/api/notes", 200, null],
        ["BREW", "", "/nothing", 404, "made-here"],
        ["GET", "/api/notes/subscribe", "/api/notes/subscribe", 200, null],
      ],
    );
    assertEquals(JSON.stringify(told).includes("secret"), false);
    for (const { durationMs } of told) assert(durationMs >= 0 && durationMs < 10_000);
    assertEquals(requestsOf(seen).length, told.length, "the end of a stream has no line");
    const counted = 'resource_api_observations_total{kind="request",detail=""}';
    assertEquals(await value(counted), 0);
  });
});

Deno.test("requests are observed without metrics, and not unless the option says so", async () => {
  for (const observability of [{ metrics: false, requests: true }, true, {}, false] as const) {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const db = await openDatabase("sqlite::memory:");
    await db.createTables([notes]);
    const app = await createApp({
      ...{ db, observability, secret: "a secret for the tests only" },
      resources: [resource(notes, { id: notes.id, auth: { read: () => all(), public: true } })],
      runtime: systemRuntime(consoleObserver({ format: "json", write, now: () => 0 })),
    });
    lines.length = 0;
    const answer = await app.fetch(new Request("http://localhost/api/notes/9?x=1"));
    await answer.body?.cancel();
    const wanted = typeof observability === "object" && "requests" in observability;
    assertEquals(app.metrics === null, wanted || observability === false);
    const [line, ...more] = lines.map((text): unknown => JSON.parse(text));
    assertEquals(more, []);
    if (!wanted) assertEquals(line, undefined);
    else {
      const { durationMs, ...facts } = Object(line);
      assertEquals(typeof durationMs, "number");
      assertEquals(facts, {
        ...{ time: "1970-01-01T00:00:00.000Z", level: "info", event: "request" },
        ...{ method: "GET", route: "/api/notes/:id", path: "/api/notes/9", status: 404 },
        requestId: null,
      });
    }
    await app.close();
  }
});

Deno.test("an observer that throws breaks no answer", () =>
  withObservedService({
    observability: { requests: true },
    runtime: systemRuntime(({ kind }) => {
      if (kind === "request") throw new Error("a fault");
    }),
  }, async ({ send }) => {
    assertEquals((await send("GET", "/api/notes")).status, 200);
  }));

Deno.test("as text, a request is one line, whatever its path is", () => {
  const lines: string[] = [];
  consoleObserver({ format: "text", write: (line) => void lines.push(line) })({
    ...{ kind: "request", method: "GET", route: "", path: "/a\nb", status: 404 },
    ...{ durationMs: 1.26, requestId: "abc" },
  });
  assertEquals(lines, ["info: GET /a\\u000ab → 404 in 1.3 ms, request abc"]);
});
