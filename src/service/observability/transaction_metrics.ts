import type { Metrics } from "../../metrics/metrics.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { DriverWatch } from "./watched_driver.ts";

/** Returns the part of a {@link DriverWatch} that measures durations and outcomes of transactions. */
export function createTransactionMetrics(
  metrics: Metrics,
  clock: Clock,
): DriverWatch["transaction"] {
  const durations = metrics.histogram("resource_api_db_transaction_duration_seconds", {
    help: "Time of transactions, and of writes that are one by themselves, by their outcome.",
    labels: ["outcome"],
  });
  const committed = durations.series("committed");
  const failed = durations.series("failed");
  return () => {
    const beganAt = clock.elapsedMs();
    return (error) => {
      const series = error === undefined ? committed : failed;
      series.observe((clock.elapsedMs() - beganAt) / 1_000);
    };
  };
}
