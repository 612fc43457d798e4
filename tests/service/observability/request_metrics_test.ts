import { assertEquals } from "@std/assert";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { withObservedService } from "./observed_service.ts";

const ann = { "x-user": "ann" };

const seen: string[] = [];
const observedRuntime = systemRuntime(({ kind }) => void seen.push(kind));

function count(method: string, route: string, status: number): string {
  return `resource_api_requests_total{http_request_method="${method}",http_route="${route}",` +
    `http_response_status_code="${status}"}`;
}

Deno.test("a bounded load is counted by method, configured route and status", () =>
  withObservedService({}, async ({ send, value, metrics }) => {
    for (let id = 1; id <= 5; id++) {
      await send("POST", "/api/notes", { body: { id, title: "x" }, headers: ann });
    }
    for (let turn = 0; turn < 7; turn++) {
      await send("GET", `/api/notes/${turn}?select=id&secret=${turn}`);
    }
    for (const path of ["/api/notes/", "/api/n%6Ftes", "/api/notes"]) await send("GET", path);
    await send("HEAD", "/api/notes");
    await send("POST", "/api/notes", { body: { title: "x" } });
    await send("POST", "/api/notes", { body: { id: 1, title: "x" }, headers: ann });
    await send("GET", "/api/notes", { headers: { "x-user": "wrong" } });
    await send("PUT", "/api/notes");
    await send("BREW", "/api/notes");
    await send("GET", "/healthz");
    await send("GET", "/readyz");
    for (const path of ["/nothing", "/api/none/9", "/%", "/..%2f"]) await send("GET", path);
    const expected: readonly (readonly [series: string, value: number])[] = [
      [count("POST", "/api/notes", 201), 5],
      [count("GET", "/api/notes/:id", 200), 5],
      [count("GET", "/api/notes/:id", 404), 2],
      [count("GET", "/api/notes", 200), 3],
      [count("HEAD", "/api/notes", 200), 1],
      [count("POST", "/api/notes", 401), 1],
      [count("POST", "/api/notes", 409), 1],
      [count("GET", "/api/notes", 401), 1],
      [count("PUT", "/api/notes", 405), 1],
      [count("_OTHER", "/api/notes", 405), 1],
      [count("GET", "/healthz", 200), 1],
      [count("GET", "/readyz", 200), 1],
      [count("GET", "", 404), 4],
    ];
    for (const [series, wanted] of expected) assertEquals(await value(series), wanted, series);
    const all = (await metrics.snapshot())
      .find(({ name }) => name === "resource_api_requests_total")?.series ?? [];
    assertEquals(all.length, expected.length, JSON.stringify(all));
    const route = `http_request_method="GET",http_route="/api/notes/:id",status_class="4xx"`;
    assertEquals(await value(`http_server_request_duration_seconds_count{${route}}`), 2);
    assertEquals(
      await value(`http_server_request_duration_seconds_bucket{${route},le="+Inf"}`),
      2,
    );
  }));

Deno.test("a request is active until it is answered", () =>
  withObservedService({
    middleware: [async (context, next) => {
      await held[context.req.path]?.promise;
      await next();
    }],
  }, async ({ send, value }) => {
    const active = `http_server_active_requests{http_request_method="GET"}`;
    const answers = Object.keys(held).map((path) => send("GET", path));
    assertEquals(await value(active), 2);
    held["/healthz"]?.resolve();
    await answers[0];
    assertEquals(await value(active), 1);
    held["/nothing"]?.resolve();
    await answers[1];
    assertEquals(await value(active), 0);
  }));

const held: Record<string, PromiseWithResolvers<void>> = {
  "/healthz": Promise.withResolvers<void>(),
  "/nothing": Promise.withResolvers<void>(),
};

Deno.test("observations are counted by kind, and reach the observer of the runtime", () =>
  withObservedService({
    middleware: [(context, next) => {
      if (context.req.path === "/fails") throw new Error("a fault");
      return next();
    }],
    runtime: observedRuntime,
  }, async ({ send, value }) => {
    for (let turn = 0; turn < 3; turn++) await send("GET", "/fails");
    const series = 'resource_api_observations_total{kind="request_failed",detail=""}';
    assertEquals(await value(series), 3);
    assertEquals(seen.filter((kind) => kind === "request_failed").length, 3);
  }));
