import type { Metrics } from "../../../metrics/metrics.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import type { Report } from "../report.ts";

/** Creates the report of the current metrics. Its `at` is in milliseconds since 1970. */
export function createMetricsReport(metrics: Metrics, clock: Clock): Report {
  return {
    name: "metrics",
    method: "GET",
    answer: async () => ({ at: clock.now(), families: await metrics.snapshot() }),
  };
}
