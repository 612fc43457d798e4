import { assertEquals, assertStringIncludes } from "@std/assert";
import { createMetrics } from "../../../exports/observability.ts";
import { createApp, openDatabase } from "../../../mod.ts";
import { withObservedService } from "./observed_service.ts";

const path = "/__service/metrics";

Deno.test("in development this machine alone may read the metrics", () =>
  withObservedService({}, async ({ send }) => {
    const answer = await send("GET", path);
    assertEquals(answer.status, 200);
    assertEquals(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    assertEquals(answer.headers.get("cache-control"), "no-store");
    assertStringIncludes(await answer.text(), "process_cpu_seconds_total");
    assertEquals((await send("GET", path, { address: "::1" })).status, 200);
    // A wrong credential of the service changes nothing for this machine.
    assertEquals(
      (await send("GET", path, { headers: { "authorization": "Bearer wrong" } })).status,
      200,
    );
    const refused = [
      { address: "10.0.0.1" },
      { address: "" },
      { headers: { host: "rebound.example" } },
      { headers: { host: "rebound.example:80" } },
      { headers: { "x-forwarded-for": "10.0.0.1" } },
      { headers: { "x-forwarded-proto": "https" } },
      { headers: { "cf-connecting-ip": "10.0.0.1" } },
      { headers: { "sec-fetch-site": "cross-site" } },
    ];
    for (const options of refused) {
      assertEquals((await send("GET", path, options)).status, 403, JSON.stringify(options));
    }
    assertEquals((await send("POST", path)).status, 405);
  }));

Deno.test("authorize decides about everyone, and only by true", () =>
  withObservedService({
    env: "production",
    observability: {
      metrics: {
        authorize: async (request, user) => {
          const token = request.headers.get("authorization");
          if (token === "Bearer throws") throw new Error("a fault");
          // A text is not true: it was not meant to allow anything.
          if (token === "Bearer text") return await Promise.resolve("yes") as unknown as boolean;
          return token === "Bearer scraper" || user?.id === "operator";
        },
      },
    },
  }, async ({ send }) => {
    const statusOf = async (headers: Record<string, string>) =>
      (await send("GET", path, { headers, address: "10.0.0.1" })).status;
    assertEquals(await statusOf({}), 401);
    assertEquals(await statusOf({ "x-user": "ann" }), 403);
    assertEquals(await statusOf({ "x-user": "operator" }), 200);
    assertEquals(await statusOf({ authorization: "Bearer scraper" }), 200);
    assertEquals(await statusOf({ authorization: "Bearer scraper", "x-user": "wrong" }), 200);
    assertEquals(await statusOf({ authorization: "Bearer other", "x-user": "wrong" }), 401);
    assertEquals(await statusOf({ authorization: "Bearer text" }), 401);
    assertEquals(await statusOf({ authorization: "Bearer throws" }), 500);
    // Nor does the machine itself have a right of its own.
    assertEquals((await send("GET", path)).status, 401);
    for (
      const spelling of [`${path}/`, "/__service/Metrics", "//__service/metrics", `/api${path}`]
    ) {
      assertEquals((await send("GET", spelling)).status, 404, spelling);
    }
    for (const spelling of ["/__service/%6Detrics", "/x/../__service/metrics"]) {
      const { status } = await send("GET", spelling, { address: "10.0.0.1" });
      assertEquals([401, 403, 404].includes(status), true, spelling);
    }
  }));

Deno.test("in production there is no page unless authorize decides, and text() works all the same", () =>
  withObservedService({ env: "production" }, async ({ send, metrics }) => {
    assertEquals((await send("GET", path)).status, 404);
    assertStringIncludes(await metrics.text(), "resource_api_requests_total");
  }));

Deno.test("without the option there are neither metrics nor a page", async () => {
  for (const observability of [undefined, false, { metrics: false }] as const) {
    const db = await openDatabase("sqlite::memory:");
    const app = await createApp({
      ...{ db, observability, resources: [], secret: "a secret for the tests only" },
    });
    const answer = await app.fetch(new Request(`http://localhost${path}`), {
      remoteAddr: { hostname: "127.0.0.1" },
    });
    await answer.body?.cancel();
    assertEquals([app.metrics, answer.status], [null, 404]);
    await app.close();
  }
});

Deno.test("a registry of the deployer has the metrics of the app beside its own", async () => {
  const registry = createMetrics();
  registry.counter("mails_sent_total", { help: "Mails." }).series().add(3);
  await withObservedService({ observability: { metrics: { registry } } }, async ({ send }) => {
    await send("GET", "/api/notes");
    const text = await (await send("GET", path)).text();
    assertStringIncludes(text, "mails_sent_total 3\n");
    assertStringIncludes(text, 'http_route="/api/notes"');
  });
});

Deno.test("docs/observability.md has every metric with its type and labels, and no other", () =>
  withObservedService({ kv: ":memory:" }, async ({ send, metrics }) => {
    await send("GET", "/nothing");
    const document = new URL("../../../docs/observability.md", import.meta.url);
    const rows = [
      ...(await Deno.readTextFile(document))
        .matchAll(/^\| `(\w+)` +\| (counter|gauge|histogram) +\| (.*?) *\|/gm),
    ].map(([, name = "", type = "", labels = ""]) =>
      [name, type, ...labels.matchAll(/\w+/g)].map(String)
    );
    const told = new Map(rows.map(([name = "", ...facts]) => [name, facts]));
    const found = await metrics.snapshot();
    // Those of Postgres, its replicas and the outbox are there with these.
    const elsewhere =
      /^(?:db_client|resource_api_db_pool|resource_api_replica|resource_api_search_outbox)_/;
    const names = [...told.keys()].filter((name) => !elsewhere.test(name));
    assertEquals(names.sort(), found.map(({ name }) => name).sort());
    const file = new URL(
      "../../../src/service/observability/component_metrics.ts",
      import.meta.url,
    );
    const registered = (await Deno.readTextFile(file)).matchAll(/"((?:db|resource_api)_\w+)",/g);
    const others = [...registered].map(([, name = ""]) => name)
      .filter((name) => elsewhere.test(name) && !/pool_name|connection_state/.test(name));
    assertEquals(others.filter((name) => !told.has(name)), []);
    assertEquals(others.length, told.size - names.length);
    for (const { name, type, series: [one] } of found) {
      if (one === undefined) continue;
      assertEquals(told.get(name), [type, ...Object.keys(one.labels)], name);
    }
  }));
