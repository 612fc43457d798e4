import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createMetrics, type Metrics } from "../../exports/observability.ts";
import { MetricsShare } from "../../src/service/observability/component_metrics.ts";

Deno.test("counters, gauges and histograms are written as Prometheus reads them", async () => {
  const metrics = createMetrics();
  const mails = metrics.counter("mails_total", {
    help: "Mails.\nAll \\ of them.",
    labels: ["kind"],
  });
  mails.series("a").add();
  mails.series("a").add(2.5);
  mails.series('"\\\n').add();
  metrics.gauge("depth", { help: "Depth." }).series().set(-Infinity);
  metrics.gauge("unused", { help: "Without series.", labels: ["x"] });
  const sizes = metrics.histogram("size_bytes", { help: "Sizes.", buckets: [1, 10] }).series();
  for (const size of [0, 1, 1.5, 10, 11]) sizes.observe(size);
  assertEquals(
    await metrics.text(),
    `# HELP mails_total Mails.\\nAll \\\\ of them.
# TYPE mails_total counter
mails_total{kind="a"} 3.5
mails_total{kind="\\"\\\\\\n"} 1
# HELP depth Depth.
# TYPE depth gauge
depth -Inf
# HELP size_bytes Sizes.
# TYPE size_bytes histogram
size_bytes_bucket{le="1"} 2
size_bytes_bucket{le="10"} 4
size_bytes_bucket{le="+Inf"} 5
size_bytes_sum 23.5
size_bytes_count 5
`,
  );
});

Deno.test("a metric of the same name is the same one, and another type or label is a mistake", () => {
  const metrics = createMetrics();
  const counter = () => metrics.counter("x_total", { help: "X.", labels: ["a"] });
  counter().series("1").add();
  assertEquals(counter().series("1").value, 1);
  assertThrows(() => metrics.gauge("x_total", { help: "X.", labels: ["a"] }), Error, "a counter");
  assertThrows(() => metrics.counter("x_total", { help: "X." }), Error, "[a]");
  assertThrows(() => counter().series(), Error, "1 labels, not 0");
});

Deno.test("names, labels, buckets and counts that Prometheus does not take are mistakes", () => {
  const metrics = createMetrics();
  const wrong: readonly ((one: Metrics) => unknown)[] = [
    (one) => one.counter("1x", { help: "" }),
    (one) => one.counter("a b", { help: "" }),
    (one) => one.gauge("x", { help: "", labels: ["le"] }),
    (one) => one.gauge("x", { help: "", labels: ["__x"] }),
    (one) => one.gauge("x", { help: "", labels: ["a", "a"] }),
    (one) => one.histogram("x", { help: "", buckets: [1, 1] }),
    (one) => one.histogram("x", { help: "", buckets: [1, Infinity] }),
  ];
  for (const make of wrong) assertThrows(() => make(metrics), Error, "Cannot make the");
  const counter = metrics.counter("x_total", { help: "X." }).series();
  assertThrows(() => counter.add(-1), RangeError);
  assertThrows(() => counter.add(NaN), RangeError);
  counter.raiseTo(5);
  counter.raiseTo(3);
  assertEquals(counter.value, 5);
});

Deno.test("what is measured only at a reading is measured before each, until it is ended", async () => {
  const metrics = createMetrics();
  const gauge = metrics.gauge("depth", { help: "Depth." }).series();
  const end = metrics.onRead(async () => {
    await Promise.resolve();
    gauge.add(1);
  });
  assertEquals((await metrics.snapshot())[0]?.series, [{ labels: {}, value: 1 }]);
  assertEquals((await metrics.snapshot())[0]?.series, [{ labels: {}, value: 2 }]);
  end();
  assertEquals((await metrics.snapshot())[0]?.series, [{ labels: {}, value: 2 }]);
  metrics.onRead(() => Promise.reject(new Error("gone")));
  await assertRejects(() => metrics.text(), Error, "gone");
});

Deno.test("what several count is added up, and their shares of a gauge end with them", async () => {
  const metrics = createMetrics();
  const hits = metrics.counter("hits_total", { help: "Hits." });
  const open = metrics.gauge("open", { help: "Open." });
  open.series().set(1);
  const [one, other] = [new MetricsShare(metrics), new MetricsShare(metrics)];
  const [ofOne, ofOther] = [
    one.counter("hits_total", "Hits."),
    other.counter("hits_total", "Hits."),
  ];
  const [openOne, openOther] = [one.gauge("open", "Open."), other.gauge("open", "Open.")];
  ofOne(5);
  ofOther(2);
  ofOne(7);
  // What begins again at 0 is counted from there on.
  ofOther(0);
  ofOther(3);
  assertEquals(hits.series().value, 12);
  openOne.value = 4;
  openOther.value = 2;
  assertEquals(open.series().value, 7);
  openOther.value = NaN;
  assertEquals(open.series().value, NaN);
  let readings = 0;
  other.onRead(() => void readings++);
  await metrics.text();
  other.end();
  await metrics.text();
  assertEquals([open.series().value, readings], [5, 1]);
});
