import type { Connection } from "../db/driver.ts";
import type { KeyValue } from "../kv/key_value.ts";
import type { RouteTable } from "../resource/routes/route_table.ts";
import type { Clock } from "../runtime/runtime.ts";

/** The health check of a dependency, such as the database, the store or the search index. */
export interface HealthCheck {
  /** The name of the check in the member `checks`, for example `database`. */
  readonly name: string;
  /** True if requests still succeed when the dependency fails. */
  readonly isDispensable?: boolean | undefined;
  /** Resolves if the dependency works, and rejects if it fails. */
  run(): Promise<unknown>;
}

/**
 * Runs all checks concurrently for the health route `GET /readyz`. The status is 503 if a required
 * check fails or the service is stopping: a load balancer then sends no requests to this instance.
 * A shared store must not be required, or its failure would stop all instances. `draining` is true
 * while the process stops. `deadlineMs` is the timeout of one check, in milliseconds.
 */
export async function readiness(
  checks: readonly HealthCheck[],
  { clock, draining, deadlineMs = 1_000 }: {
    readonly clock: Clock;
    readonly draining: boolean;
    readonly deadlineMs?: number | undefined;
  },
) {
  const results = await Promise.all(checks.map((check) => runCheck(check, clock, deadlineMs)));
  const ready = !draining && results.every(([, result]) => result.status !== "unavailable");
  return {
    status: ready ? 200 : 503,
    body: { status: ready ? "ready" : "unavailable", checks: Object.fromEntries(results) },
  };
}

/** Returns the health check of a database: a query that reads no table. */
export function databaseCheck(connection: Connection): HealthCheck {
  return {
    name: "database",
    run: async () => await connection.query({ text: "SELECT 1", values: [] }),
  };
}

export function storeCheck(store: KeyValue, isDispensable: boolean): HealthCheck {
  return { name: "store", isDispensable, run: () => store.get(["service", "health"]) };
}

/** Returns true if requests succeed without the store, which proof of work and CAPTCHAs need. */
export function worksWithoutStore({ routes }: RouteTable): boolean {
  return !routes.every(({ endpoint, resource }) => {
    const { pow = null, captcha = null } = endpoint.protection(resource) ?? {};
    return endpoint.name.startsWith("subscribe") || pow !== null || captcha !== null;
  });
}

async function runCheck(check: HealthCheck, clock: Clock, deadlineMs: number) {
  const startedAt = clock.elapsedMs();
  const failed = check.isDispensable === true ? "degraded" : "unavailable";
  const outcome = Promise.withResolvers<"ok" | "degraded" | "unavailable">();
  const cancel = clock.after(deadlineMs, () => outcome.resolve(failed));
  Promise.try(() => check.run()).then(
    () => outcome.resolve("ok"),
    // The response does not contain the reason of a failure, because any caller can read it.
    () => outcome.resolve(failed),
  );
  const status = await outcome.promise;
  cancel();
  const latencyMs = Math.round((clock.elapsedMs() - startedAt) * 10) / 10;
  return [check.name, { status, latencyMs }] as const;
}
