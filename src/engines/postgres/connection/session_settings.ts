import { signalsAfterCommitSetting } from "../sql/change_log_schema.ts";
import type { postgresOptionRules } from "../driver/postgres_options.ts";
import type { ConnectionPlan } from "./connection_plan.ts";

/** The parts of the options of a driver that determine the settings of its sessions. */
export interface SessionParts {
  readonly plan: ConnectionPlan;
  readonly options: ReturnType<typeof postgresOptionRules.read>;
}

/** Returns settings with which all servers print values alike, and which no pooler rejects. */
export function sessionSettings(
  { plan, options: { readOnly, statementTimeoutMs, maxParallelWorkers, waitLimitMs } }:
    SessionParts,
  announces: boolean,
): Readonly<Record<string, string | number>> {
  return {
    ...{ TimeZone: "UTC", DateStyle: "ISO, MDY" },
    ...(plan.isPooled ? {} : {
      ...(readOnly ? { default_transaction_read_only: "on" } : {}),
      ...{ IntervalStyle: "postgres", bytea_output: "hex", extra_float_digits: 1 },
      standard_conforming_strings: "on",
      statement_timeout: statementTimeoutMs,
      // A string, because the library omits falsy settings such as the number 0.
      max_parallel_workers_per_gather: String(maxParallelWorkers),
      jit: "off", // The compiler takes up to seconds for a nested filter.
      lock_timeout: lockTimeout(waitLimitMs),
      ...(announces ? { [signalsAfterCommitSetting]: "on" } : {}),
    }),
    ...plan.settings,
  };
}

/** Returns the message that begins a transaction with the settings that a pooler does not keep. */
export function pooledBegin(
  { options: { readOnly, statementTimeoutMs, waitLimitMs } }: SessionParts,
  announces: boolean,
): string {
  return `BEGIN${readOnly ? " READ ONLY" : ""};
    SET LOCAL lock_timeout = ${lockTimeout(waitLimitMs)};
    SET LOCAL statement_timeout = ${statementTimeoutMs}
    ${announces ? `; SET LOCAL ${signalsAfterCommitSetting} = on` : ""}`;
}

/** The time limit of a lock, in milliseconds. 0 would mean no limit. */
function lockTimeout(waitLimitMs: number): number {
  return Math.max(1, Math.ceil(waitLimitMs));
}

/** Releases the session's locks, which a rollback does not release. */
export const releaseLocks = "SELECT pg_catalog.pg_advisory_unlock_all()";

/**
 * The statements that restore a session before COMMIT. Deferred triggers and constraints run first,
 * with the settings of the transaction. Prepared statements stay.
 */
export const restoreSession: readonly string[] = [
  ...["SET CONSTRAINTS ALL IMMEDIATE", "CLOSE ALL", "RESET ALL", "RESET SESSION AUTHORIZATION"],
  ...["RESET ROLE", "UNLISTEN *", "DISCARD TEMP", releaseLocks],
];

/** The settings with a meaning for later statements that a server reports when they change. */
export const reportedSettings: ReadonlySet<string> = new Set([
  ...["TimeZone", "DateStyle", "IntervalStyle", "client_encoding", "session_authorization"],
  ...["default_transaction_read_only", "is_superuser", "search_path"],
]);
