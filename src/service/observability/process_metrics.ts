import process from "node:process";
import type { Metrics } from "../../metrics/metrics.ts";
import type { Clock } from "../../runtime/runtime.ts";

export function registerProcessMetrics(metrics: Metrics, clock: Clock): () => void {
  const gauge = (name: string, help: string) => metrics.gauge(name, { help }).series();
  const rss = gauge("process_resident_memory_bytes", "Memory of the process that is in RAM.");
  const heap = gauge("process_heap_bytes", "Memory of the heap of JavaScript that is in use.");
  const start = gauge("process_start_time_seconds", "When the process began, since 1970.");
  const cpu = metrics.counter("process_cpu_seconds_total", {
    help: "Processor time of the process, user and system.",
  }).series();
  const { host, hostVersion, uptimeSeconds } = processUsage();
  metrics.gauge("resource_api_build_info", {
    help: "Always 1; its labels say what runs.",
    labels: ["host", "host_version"],
  }).series(host, hostVersion).set(1);
  start.set(clock.now() / 1_000 - uptimeSeconds);
  return metrics.onRead(() => {
    const { residentBytes, heapBytes, cpuSeconds } = processUsage();
    rss.set(residentBytes);
    heap.set(heapBytes);
    cpu.raiseTo(cpuSeconds);
  });
}

function processUsage() {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  // In Deno and Bun, `versions` contains `node` in addition to the name of the runtime.
  const versions: Readonly<Record<string, string | undefined>> = process.versions;
  const host = ["deno", "bun"].find((name) => versions[name] !== undefined) ?? "node";
  return {
    residentBytes: rss,
    heapBytes: heapUsed,
    // Processor time since the start of the process, added up over all processors.
    cpuSeconds: (user + system) / 1e6,
    uptimeSeconds: process.uptime(),
    ...{ host, hostVersion: versions[host] ?? "" },
  };
}
