import type { Connection } from "../db/driver.ts";
import type { KeyValue } from "../kv/key_value.ts";
import type { Clock } from "../runtime/runtime.ts";

/** A health check of a dependency: the database, the store, the search index. */
export interface HealthCheck {
  /** The key below `checks`, e.g. `database`. */
  readonly name: string;
  /** Resolves when the dependency works; a rejection fails the check, never the request. */
  run(): Promise<unknown>;
}

/** The result of one health check. */
export interface CheckResult {
  readonly status: "ok" | "unavailable";
  readonly latencyMs: number;
}

/** The answer of a health route, before it becomes a response. */
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
  /** True once the process is stopping: a load balancer should send no new requests. */
  readonly draining: boolean;
  /** A check that takes longer counts as failed; 1,000 by default. */
  readonly deadlineMs?: number | undefined;
}

/** Answers the health route `GET /healthz`: the process answers, regardless of its dependencies. */
export function liveness(): HealthReport<LivenessBody> {
  return { status: 200, body: { status: "ok" } };
}

/**
 * Answers the health route `GET /readyz`: runs all checks at once; 503 when one fails, or while the
 * service drains.
 */
export async function readiness(
  checks: readonly HealthCheck[],
  { clock, draining, deadlineMs = 1_000 }: ReadinessOptions,
): Promise<HealthReport<ReadinessBody>> {
  const results = await Promise.all(checks.map((check) => runCheck(check, clock, deadlineMs)));
  const ready = !draining && results.every(([, result]) => result.status === "ok");
  return {
    status: ready ? 200 : 503,
    body: {
      status: ready ? "ready" : "unavailable",
      checks: Object.fromEntries(results),
    },
  };
}

/** The health check of a database: whether it answers a query that reads no table. */
export function databaseCheck(connection: Connection): HealthCheck {
  return { name: "database", run: () => connection.query({ text: "SELECT 1", values: [] }) };
}

/** The health check of the key-value store: whether it reads a key, which never has a value. */
export function storeCheck(store: KeyValue): HealthCheck {
  return { name: "store", run: () => store.get(["service", "health"]) };
}

async function runCheck(
  check: HealthCheck,
  clock: Clock,
  deadlineMs: number,
): Promise<readonly [name: string, result: CheckResult]> {
  const startedAt = clock.elapsedMs();
  const outcome = Promise.withResolvers<CheckResult["status"]>();
  const cancel = clock.after(deadlineMs, () => outcome.resolve("unavailable"));
  Promise.try(() => check.run()).then(
    () => outcome.resolve("ok"),
    // Without the reason: the caller is anonymous, and failing requests observe the error.
    () => outcome.resolve("unavailable"),
  );
  const status = await outcome.promise;
  cancel();
  const latencyMs = Math.round((clock.elapsedMs() - startedAt) * 10) / 10;
  return [check.name, { status, latencyMs }];
}
