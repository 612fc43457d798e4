import type { Metrics } from "../metrics/metrics.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import type { ParsedConfig } from "./resolve_resources.ts";
import type { RouteTable } from "../resource/routes/route_table.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { HonoApp } from "../service/hono_app.ts";
import { createObservationCounter } from "../service/observability/observation_counter.ts";
import { observeRequests } from "../service/observability/observe_requests.ts";
import {
  type MeasuredComponents,
  registerComponentMetrics,
} from "../service/observability/component_metrics.ts";
import { registerProcessMetrics } from "../service/observability/process_metrics.ts";
import { RequestMetrics } from "../service/observability/request_metrics.ts";
import { openTracing, type Tracing } from "../service/observability/open_telemetry.ts";
import { createTransactionMetrics } from "../service/observability/transaction_metrics.ts";
import { createRouteFinder } from "../service/observability/route_finder.ts";
import { observeDatabases } from "./observe_databases.ts";

export interface AppObservability {
  readonly metrics: Metrics | null;
  readonly runtime: Runtime;
  /** Returns the configuration, with drivers that measure statements if metrics or spans are on. */
  watching<Config extends ParsedConfig>(config: Config): Promise<Config>;
  /** Returns a `fetch` that measures and logs requests, or the app's `fetch` if both are off. */
  observed(app: Pick<HonoApp, "hono" | "fetch">, table: RouteTable): HonoApp["fetch"];
  measure(parts: MeasuredComponents): void;
  close(): void;
}

/** Opens the metrics, spans and logs that the configuration of an app enables. */
export function openObservability(
  { observability }: ResolvedConfig,
  runtime: Runtime,
): AppObservability {
  const { clock } = runtime;
  const registry = observability.metrics?.registry ?? null;
  const requests = registry === null ? null : new RequestMetrics(registry);
  // The observer of the metrics is not used here, because it would count each request again.
  const observe = observability.requests ? runtime.observe : null;
  const transaction = registry === null ? undefined : createTransactionMetrics(registry, clock);
  let tracing: Tracing | null = null;
  const stops = registry === null ? [] : [registerProcessMetrics(registry, clock)];
  return {
    metrics: registry,
    runtime: registry === null
      ? runtime
      : withObserver(runtime, createObservationCounter(registry, runtime.observe)),
    async watching(config) {
      if (observability.openTelemetry) tracing = await openTracing();
      const spans = tracing;
      if (spans === null && transaction === undefined) return config;
      return await observeDatabases(config, (driver) => ({
        statements: spans?.statementsOf(driver),
        transaction,
      }));
    },
    observed(app, table) {
      if (tracing === null && requests === null && observe === null) return app.fetch;
      let { fetch } = app;
      const findRoute = createRouteFinder(table, app.hono);
      if (tracing !== null) fetch = tracing.around(fetch, findRoute);
      if (requests !== null || observe !== null) {
        fetch = observeRequests({ fetch }, { findRoute, metrics: requests, observe, clock });
      }
      app.hono.fetch = fetch;
      return fetch;
    },
    measure(parts) {
      if (registry !== null) stops.push(registerComponentMetrics(registry, parts));
    },
    close() {
      for (const stop of stops) stop();
    },
  };
}

/** Not created by a spread, which would omit the methods of a runtime that is a class instance. */
function withObserver(runtime: Runtime, observe: Runtime["observe"]): Runtime {
  const { clock, random, cron } = runtime;
  return {
    ...{ clock, random, observe },
    environment: (name) => runtime.environment(name),
    ...(cron === undefined ? {} : { cron }),
  };
}
