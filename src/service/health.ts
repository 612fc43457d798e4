import type { Connection } from "../db/driver.ts";
import type { KeyValue } from "../kv/key_value.ts";
import type { RouteTable } from "../resource/routes/route_table.ts";
import type { Clock } from "../runtime/runtime.ts";

/** A health check of a dependency: the database, the store, the search index. */
export interface HealthCheck {
  /** Key of the check in `checks`, e.g. `database`. */
  readonly name: string;
  /** True if requests continue without the dependency. */
  readonly isDispensable?: boolean | undefined;
  /** Resolves if the dependency works. A rejection fails the check, never the request. */
  run(): Promise<unknown>;
}

/** The result of one health check. */
export interface CheckResult {
  /** `degraded` if the check fails and requests continue without the dependency. */
  readonly status: "ok" | "degraded" | "unavailable";
  readonly latencyMs: number;
}

/** The result of a health route, before it becomes a response. */
export interface HealthReport<Body> {
  readonly status: 200 | 503;
  readonly body: Body;
}

/** The body of the health route `GET /healthz`. */
export interface LivenessBody {
  readonly status: "ok";
}

/** The body of the health route `GET /readyz`. */
export interface ReadinessBody {
  readonly status: "ready" | "unavailable";
  readonly checks: Readonly<Record<string, CheckResult>>;
}

/** The options of the health route {@link readiness}. */
export interface ReadinessOptions {
  readonly clock: Clock;
  /** True while the process is stopping. A load balancer should then send no new requests. */
  readonly draining: boolean;
  /** Timeout of one check, in milliseconds. Default: 1,000. */
  readonly deadlineMs?: number | undefined;
}

/** Handles the health route `GET /healthz`. The process responds whatever its dependencies do. */
export function liveness(): HealthReport<LivenessBody> {
  return { status: 200, body: { status: "ok" } };
}

/**
 * Handles the health route `GET /readyz`: runs all checks concurrently. Responds with 503 if a
 * required check fails, or while the service drains. A load balancer removes an instance at a 503.
 * If all instances share a store that fails, the load balancer would remove all of them.
 */
export async function readiness(
  checks: readonly HealthCheck[],
  { clock, draining, deadlineMs = 1_000 }: ReadinessOptions,
): Promise<HealthReport<ReadinessBody>> {
  const results = await Promise.all(checks.map((check) => runCheck(check, clock, deadlineMs)));
  const ready = !draining && results.every(([, result]) => result.status !== "unavailable");
  return {
    status: ready ? 200 : 503,
    body: {
      status: ready ? "ready" : "unavailable",
      checks: Object.fromEntries(results),
    },
  };
}

/** Returns the health check of a database: a query that reads no table must succeed. */
export function databaseCheck(connection: Connection): HealthCheck {
  return {
    name: "database",
    run: async () => await connection.query({ text: "SELECT 1", values: [] }),
  };
}

/** Returns the health check of the key-value store: it reads a key that never has a value. */
export function storeCheck(store: KeyValue, isDispensable: boolean): HealthCheck {
  return { name: "store", isDispensable, run: () => store.get(["service", "health"]) };
}

/**
 * Returns true if requests work without the key-value store. Limits work without it, but gates of
 * proof of work or CAPTCHAs refuse requests. Gates of streams do not matter, because streams have
 * none.
 */
export function worksWithoutStore({ routes }: RouteTable): boolean {
  return !routes.every(({ endpoint, resource }) => {
    const { pow = null, captcha = null } = endpoint.protection(resource) ?? {};
    return endpoint.name.startsWith("subscribe") || pow !== null || captcha !== null;
  });
}

async function runCheck(
  check: HealthCheck,
  clock: Clock,
  deadlineMs: number,
): Promise<readonly [name: string, result: CheckResult]> {
  const startedAt = clock.elapsedMs();
  const outcome = Promise.withResolvers<CheckResult["status"]>();
  const failed = check.isDispensable === true ? "degraded" : "unavailable";
  const cancel = clock.after(deadlineMs, () => outcome.resolve(failed));
  Promise.try(() => check.run()).then(
    () => outcome.resolve("ok"),
    // The reason is omitted, because the caller is anonymous. Failing requests observe the error.
    () => outcome.resolve(failed),
  );
  const status = await outcome.promise;
  cancel();
  const latencyMs = Math.round((clock.elapsedMs() - startedAt) * 10) / 10;
  return [check.name, { status, latencyMs }];
}
