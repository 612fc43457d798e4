import process from "node:process";
import type { Combination } from "../../metrics/metric_reading.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import { packageVersion } from "../../runtime/package_version.ts";
import type { Clock } from "../../runtime/runtime.ts";

export function registerProcessMetrics(metrics: Metrics, clock: Clock): () => void {
  const gauge = (name: string, help: string, combine: Combination = "sum") =>
    metrics.gauge(name, { help, combine }).series();
  const rss = gauge("process_resident_memory_bytes", "Memory of the process that is in RAM.");
  const heap = gauge("process_heap_bytes", "Memory of the heap of JavaScript that is in use.");
  const start = gauge("process_start_time_seconds", "When the process began, since 1970.", "min");
  const cpu = metrics.counter("process_cpu_seconds_total", {
    help: "Processor time of the process, user and system.",
  }).series();
  const { host, hostVersion, uptimeSeconds } = processUsage();
  metrics.gauge("resource_api_build_info", {
    help: "Always 1; its labels say what runs.",
    labels: ["version", "host", "host_version"],
    combine: "max",
  }).series(packageVersion, host, hostVersion).set(1);
  start.set(clock.now() / 1_000 - uptimeSeconds);
  const stopDelays = measureEventLoop(metrics, clock);
  const stopReading = metrics.onRead(() => {
    const { residentBytes, heapBytes, cpuSeconds } = processUsage();
    rss.set(residentBytes);
    heap.set(heapBytes);
    cpu.raiseTo(cpuSeconds);
  });
  return () => {
    stopDelays();
    stopReading();
  };
}

/** Measures twice a second how late a timer runs, because requests are delayed as much. */
function measureEventLoop(metrics: Metrics, clock: Clock): () => void {
  const delays = metrics.histogram("resource_api_event_loop_delay_seconds", {
    help: "How late a timer ran, because the process was busy.",
  }).series();
  let cancel = () => {};
  const wait = () => {
    const dueAt = clock.elapsedMs() + timerMs;
    cancel = clock.after(timerMs, () => {
      delays.observe(Math.max(0, clock.elapsedMs() - dueAt) / 1_000);
      wait();
    });
  };
  wait();
  return () => cancel();
}

const timerMs = 500;

function processUsage() {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  // In Deno and Bun, `versions` contains `node` in addition to the name of the runtime.
  const versions: Readonly<Record<string, string | undefined>> = process.versions;
  const host = ["deno", "bun"].find((name) => versions[name] !== undefined) ?? "node";
  return {
    residentBytes: rss,
    heapBytes: heapUsed,
    cpuSeconds: (user + system) / 1e6,
    uptimeSeconds: process.uptime(),
    ...{ host, hostVersion: versions[host] ?? "" },
  };
}
