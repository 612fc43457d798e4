import { assertEquals } from "@std/assert";

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

interface Span {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly status?: { readonly code?: number };
  readonly attributes: readonly Attribute[];
}

interface DataPoint {
  readonly asInt?: string;
  readonly asDouble?: number;
  readonly attributes: readonly Attribute[];
}

interface ExportedMetric {
  readonly sum?: { readonly dataPoints: readonly DataPoint[] };
  readonly gauge?: { readonly dataPoints: readonly DataPoint[] };
}

Deno.test("Deno's spans have routes, and those of statements are parts of them, without values", async () => {
  const spans: Span[] = [];
  const logs: { readonly severityText: string; readonly body: { readonly stringValue: string } }[] =
    [];
  const metrics = new Map<string, ExportedMetric>();
  // The other end of OTLP (https://opentelemetry.io/docs/specs/otlp/), which is JSON here.
  const collector = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const { resourceSpans = [], resourceLogs = [], resourceMetrics = [] } = await request.json();
      for (const { scopeMetrics } of resourceMetrics) {
        for (const { scope, metrics: some } of scopeMetrics) {
          if (scope.name === "resource-api") { for (const one of some) metrics.set(one.name, one); }
        }
      }
      for (const { scopeLogs } of resourceLogs) {
        for (const { logRecords } of scopeLogs) logs.push(...logRecords);
      }
      for (const { scopeSpans } of resourceSpans) {
        for (const { spans: some } of scopeSpans) spans.push(...some);
      }
      return Response.json({});
    },
  );
  const service = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", import.meta.resolve("./traced_service.ts")],
    env: {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.addr.port}`,
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_BLRP_SCHEDULE_DELAY: "50",
      OTEL_METRIC_EXPORT_INTERVAL: "50",
      OTEL_DENO_CONSOLE: "capture",
    },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const lines = service.stdout.pipeThrough(new TextDecoderStream());
  const reader = lines.getReader();
  const { value: port = "" } = await reader.read();
  const send = async (method: string, path: string, body?: unknown) => {
    const url = `http://127.0.0.1:${port.trim()}${path}`;
    const headers = { "content-type": "application/json" };
    const answer = await fetch(url, { method, headers, body: body ? JSON.stringify(body) : null });
    await answer.body?.cancel();
  };
  await send("GET", "/api/notes?filter=title==a-secret-title");
  await send("POST", "/api/notes/batch", { items: [{ title: "another secret" }] });
  await send("POST", "/api/notes/batch", { items: [{ id: 1, title: "a secret twice" }] });
  await send("GET", "/api/notes/1");
  await send("GET", "/nothing/here");
  while (!metrics.has("http_server_request_duration_seconds_count")) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await service.stdin.close();
  await reader.cancel();
  await service.status;
  await collector.shutdown();

  const levels = logs.flatMap(({ severityText, body: { stringValue } }) => {
    const [, event] = /"event":"(\w+)"/.exec(stringValue) ?? [];
    return event === undefined ? [] : `${severityText} ${event}`;
  });
  assertEquals(levels.toSorted(), [
    "INFO draining",
    ...Array.from({ length: 5 }, () => "INFO request"),
  ]);

  const requests = metrics.get("resource_api_requests_total")?.sum?.dataPoints ?? [];
  const ofNotes = requests.filter(({ attributes }) =>
    attributes.some(({ value }) => value.stringValue === "/api/notes/batch")
  );
  assertEquals(ofNotes.reduce((sum, point) => sum + Number(point.asInt ?? point.asDouble), 0), 2);
  assertEquals(metrics.get("process_resident_memory_bytes")?.gauge?.dataPoints.length, 1);
  assertEquals(metrics.get("http_server_request_duration_seconds_count")?.sum !== undefined, true);

  const shown = (span: Span) =>
    Object.fromEntries(
      span.attributes.map(({ key, value }) => [key, value.stringValue]),
    );
  const ofRequests = spans.filter((span) => "http.request.method" in shown(span));
  assertEquals(ofRequests.map(({ name }) => name).toSorted(), [
    "GET",
    "GET /api/notes",
    "GET /api/notes/:id",
    "POST /api/notes/batch",
    "POST /api/notes/batch",
  ]);
  for (const span of ofRequests) {
    assertEquals(shown(span)["http.route"], span.name.split(" ")[1], span.name);
  }
  const statements = spans.filter((span) => "db.query.text" in shown(span));
  const requestOf = ({ parentSpanId }: Span) =>
    ofRequests.find(({ spanId }) => spanId === parentSpanId)?.name;
  const seen = statements.flatMap((span) => {
    const request = requestOf(span);
    const { "db.system.name": system, "error.type": error } = shown(span);
    return request === undefined ? [] : `${request}: ${span.name} ${system} ${error ?? "ok"}`;
  });
  assertEquals([...new Set(seen)].toSorted(), [
    "GET /api/notes/:id: SELECT sqlite ok",
    "GET /api/notes: SELECT sqlite ok",
    "POST /api/notes/batch: INSERT sqlite DatabaseError",
    "POST /api/notes/batch: INSERT sqlite ok",
  ]);
  for (const span of statements) {
    assertEquals(/secret/.test(JSON.stringify(span)), false, shown(span)["db.query.text"]);
  }
});
