import type { Connection } from "../db/driver.ts";
import type { KeyValue } from "../kv/key_value.ts";
import type { Clock } from "../runtime/runtime.ts";

/** Something the service cannot answer without: the database, the store, the search index. */
export interface HealthCheck {
  /** The key below `checks`, e.g. `database`. */
  readonly name: string;
  /** Resolves when it works; its failure is the check's, never the request's. */
  run(): Promise<unknown>;
}

/** What one check found. */
export interface CheckResult {
  readonly status: "ok" | "unavailable";
  readonly latencyMs: number;
}

/** The answer of a health route, before it becomes a response. */
export interface HealthReport<Body> {
  readonly status: 200 | 503;
  readonly body: Body;
}

/** The body of `GET /healthz`. */
export interface LivenessBody {
  readonly status: "ok";
}

/** The body of `GET /readyz`. */
export interface ReadinessBody {
  readonly status: "ready" | "unavailable";
  readonly checks: Readonly<Record<string, CheckResult>>;
}

/** What {@link readiness} looks at. */
export interface ReadinessOptions {
  readonly clock: Clock;
  /** True once the process is stopping: no new work should come here. */
  readonly draining: boolean;
  /** A check that takes longer counts as failed; 1,000 by default. */
  readonly deadlineMs?: number | undefined;
}

/** `GET /healthz`: the process answers, whatever it depends on. */
export function liveness(): HealthReport<LivenessBody> {
  return { status: 200, body: { status: "ok" } };
}

/** `GET /readyz`: runs all checks at once; 503 when one fails, or while the service drains. */
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

/** The database answers a query that reads nothing. */
export function databaseCheck(connection: Connection): HealthCheck {
  return { name: "database", run: () => connection.query({ text: "SELECT 1", values: [] }) };
}

/** The store reads a key under which nothing stands. */
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
    // Why it failed is no business of an anonymous caller, and the requests that need it observe it.
    () => outcome.resolve("unavailable"),
  );
  const status = await outcome.promise;
  cancel();
  const latencyMs = Math.round((clock.elapsedMs() - startedAt) * 10) / 10;
  return [check.name, { status, latencyMs }];
}
