import type { KeyValue } from "../kv/key_value.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import type { ParsedConfig } from "./resolve_resources.ts";
import type { RouteTable } from "../resource/routes/route_table.ts";
import type { Clock, Observation, Observer, Runtime } from "../runtime/runtime.ts";
import type { HonoApp } from "../service/hono_app.ts";
import {
  type MeasuredComponents,
  registerComponentMetrics,
} from "../service/observability/component_metrics.ts";
import { registerProcessMetrics } from "../service/observability/process_metrics.ts";
import { RequestMetrics } from "../service/observability/request_metrics.ts";
import { exportMetrics } from "../service/observability/export_metrics.ts";
import {
  loadOpenTelemetry,
  openTracing,
  type Tracing,
} from "../service/observability/open_telemetry.ts";
import { createRouteFinder, type FindRoute } from "../service/route_handlers.ts";
import { type DriverWatch, watchedDriver } from "../service/observability/watched_driver.ts";
import { watchedStore } from "../service/observability/watched_store.ts";
import type { Driver } from "../db/driver.ts";
import { openDatabase } from "../engines/open_database.ts";
import type { Database } from "../db/database.ts";
import { parseRequestTarget } from "../resource/http/request_target.ts";
import { catching } from "../runtime/maybe_promise.ts";
import { withObserver } from "../runtime/observed_runtime.ts";
import {
  openRequestLog,
  type RequestLog,
  requestLogFile,
} from "../service/request_log/request_log.ts";
import { requestIdIn, type RequestRecorder } from "../service/request_log/request_recorder.ts";

export interface RequestObservers {
  readonly findRoute: FindRoute;
  readonly metrics: RequestMetrics | null;
  readonly observe: Observer | null;
  readonly recorder: RequestRecorder | null;
  readonly clock: Clock;
}

export function observeRequests(
  { fetch }: Pick<HonoApp, "fetch">,
  { findRoute, metrics, observe, recorder, clock }: RequestObservers,
): HonoApp["fetch"] {
  return function observedFetch(request, info) {
    const beganAt = clock.elapsedMs();
    const method = metrics?.begin(request.method) ?? "";
    // Finds the route before the response: a later search would keep the request in memory.
    const route = findRoute(request);
    const facts = observe === null && recorder === null
      ? null
      : factsOf(request, route, observe !== null);
    const notes = recorder?.begin(route) ?? null;
    const respond = () => fetch(request, info);
    const responding = notes === null ? respond() : recorder?.run(notes, respond) ?? respond();
    // The promise never rejects, because `fetch` converts every error to a response.
    return responding.then((response) => {
      const { status } = response;
      const durationMs = clock.elapsedMs() - beganAt;
      metrics?.end(method, { route, status, durationMs });
      if (facts !== null) {
        const requestId = requestIdIn(response.headers) ?? facts.requestId;
        const rounded = Math.round(durationMs * 1_000) / 1_000;
        const observation = { ...facts, route, status, durationMs: rounded, requestId };
        // The log omits successful probes of load balancers, which would hide other requests.
        if (status < 400 && probes.has(facts.path)) return response;
        if (notes !== null) recorder?.end(notes, observation);
        // An observer must not throw, but if it does, the response is sent anyway.
        void catching(() => observe?.({ kind: "request", ...observation }), () => {});
      }
      return response;
    });
  };
}

const probes: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

function factsOf(request: Request, route: string, readsHeaders: boolean) {
  const { method, url } = request;
  const path = secretParameter.test(route) ? route : parseRequestTarget(url).path;
  // Only an observer needs the id: the first access to the headers takes several microseconds.
  return { method, path, requestId: readsHeaders ? requestIdIn(request.headers) : null };
}

/** Matches a route with a secret in its path. Logs then contain the route instead of the path. */
const secretParameter = /:\w*(?:token|secret|password|code|signature)/i;

export interface AppObservability {
  readonly requestLog: RequestLog | null;
  readonly metrics: Metrics | null;
  readonly runtime: Runtime;
  watchedStore(store: KeyValue): KeyValue;
  watching<Config extends ParsedConfig>(config: Config): Promise<Config>;
  observed(app: Pick<HonoApp, "hono" | "fetch">, table: RouteTable): HonoApp["fetch"];
  measure(parts: MeasuredComponents): void;
  close(): void;
}

export async function openObservability(
  { observability, dashboard }: ResolvedConfig,
  runtime: Runtime,
): Promise<AppObservability> {
  const { clock } = runtime;
  const registry = observability.metrics?.registry ?? null;
  const requests = registry === null ? null : new RequestMetrics(registry);
  // This observer bypasses the counter of observations: `requests` already counts requests.
  const observe = observability.requests ? runtime.observe : null;
  const transaction = registry === null ? undefined : createTransactionMetrics(registry, clock);
  const logged = dashboard?.requestLog ?? null;
  const requestLog = logged === null ? null : await openRequestLog(logged, runtime, openFile);
  const recorder = requestLog?.recorder ?? null;
  let tracing: Tracing | null = null;
  const stops = registry === null ? [] : [registerProcessMetrics(registry, clock)];
  return {
    requestLog,
    metrics: registry,
    runtime: registry === null
      ? runtime
      : withObserver(runtime, createObservationCounter(registry, runtime.observe)),
    watchedStore: (store) => registry === null ? store : watchedStore(store, registry),
    async watching(config) {
      if (observability.openTelemetry) {
        const api = await loadOpenTelemetry();
        tracing = openTracing(api);
        if (registry !== null) stops.push(await exportMetrics(registry, api));
      }
      const spans = tracing;
      const watchers = [spans, recorder].filter((one) => one !== null);
      if (watchers.length === 0 && transaction === undefined) return config;
      return await observeDatabases(config, (driver) => ({
        statements: watchedByAll(watchers.map((one) => one.statementsOf(driver))),
        transaction,
      }));
    },
    observed(app, table) {
      const observes = requests !== null || observe !== null || recorder !== null;
      if (tracing === null && !observes) return app.fetch;
      let { fetch } = app;
      const findRoute = createRouteFinder(table, app.hono);
      if (tracing !== null) fetch = tracing.around(fetch, findRoute);
      if (observes) {
        fetch = observeRequests({ fetch }, {
          ...{ findRoute, metrics: requests, observe, recorder, clock },
        });
      }
      app.hono.fetch = fetch;
      return fetch;
    },
    measure(parts) {
      if (registry !== null) stops.push(registerComponentMetrics(registry, parts));
    },
    close() {
      for (const stop of stops) stop();
      requestLog?.store.close();
    },
  };
}

async function openFile(path: string) {
  const { openLogFile } = await import("../engines/open_log_file.ts");
  return openLogFile(path, requestLogFile);
}

type StatementWatch = DriverWatch["statements"];

function watchedByAll(watches: readonly StatementWatch[]): StatementWatch {
  const [first, second] = watches;
  if (first === undefined || second === undefined) return first;
  return () => {
    const [one, other] = [first(), second()];
    return (statement) => {
      const ends = [one(statement), other(statement)];
      return (error) => ends.forEach((end) => end(error));
    };
  };
}

function createTransactionMetrics(
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

async function observeDatabases<Config extends ParsedConfig>(
  config: Config,
  watchOf: (driver: Driver) => DriverWatch,
): Promise<Config> {
  const known = new Map<Driver, Promise<Database>>();
  function watched({ driver }: Database): Promise<Database> {
    const made = known.get(driver) ?? openDatabase(watchedDriver(driver, watchOf(driver)));
    known.set(driver, made);
    return made;
  }
  return {
    ...config,
    db: await watched(config.db),
    resources: await Promise.all(config.resources.map(async (definition) => {
      const { options } = definition;
      if (options.db === undefined) return definition;
      return { ...definition, options: { ...options, db: await watched(options.db) } };
    })),
  };
}

function createObservationCounter(metrics: Metrics, next: Observer): Observer {
  const family = metrics.counter("resource_api_observations_total", {
    help:
      "Observations, as the observer receives them, by kind and by what some kinds distinguish.",
    labels: ["kind", "detail"],
  });
  return (observation) => {
    family.series(observation.kind, detailOf(observation)).add();
    next(observation);
  };
}

function detailOf(observation: Observation): string {
  switch (observation.kind) {
    case "proof_of_work_refused":
      return observation.reason;
    case "account_event":
      return observation.event;
    case "mcp_call":
      return observation.tool;
    default:
      return "provider" in observation ? observation.provider : "";
  }
}
