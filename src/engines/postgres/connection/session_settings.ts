import { signalsAfterCommitSetting } from "../sql/change_log_schema.ts";
import type { postgresOptionRules } from "../driver/postgres_options.ts";
import type { ConnectionPlan } from "./connection_plan.ts";

export interface SessionParts {
  readonly plan: ConnectionPlan;
  readonly options: ReturnType<typeof postgresOptionRules.read>;
}

/** Returns settings that unify the format of values. A pooler receives only settings it accepts. */
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

/**
 * Begins a transaction of several requests, as one message. A slow write would delay all writes, so
 * there are limits in ms. Constraints are checked early, so that no write depends on a later one.
 */
export const sharedBegin = `BEGIN;SET LOCAL lock_timeout = 100;SET LOCAL statement_timeout = 200;
  SET CONSTRAINTS ALL IMMEDIATE`;

/** The time limit of a wait for a lock, in milliseconds. 0 would mean no limit. */
function lockTimeout(waitLimitMs: number): number {
  return Math.max(1, Math.ceil(waitLimitMs));
}

const releaseLocks = "SELECT pg_catalog.pg_advisory_unlock_all()";

/** Unlike `DISCARD ALL`, these statements restore a session but keep prepared statements. */
const restoring = [
  ...["CLOSE ALL", "RESET ALL", "RESET SESSION AUTHORIZATION", "RESET ROLE", "UNLISTEN *"],
  ...["DISCARD TEMP", releaseLocks],
];

/** Statements before COMMIT: the first runs deferred triggers, the others restore the session. */
export const restoreSession: readonly string[] = ["SET CONSTRAINTS ALL IMMEDIATE", ...restoring];

export function endMessage(command: "COMMIT" | "ROLLBACK", announces: boolean): string {
  if (command === "ROLLBACK") return `${command};${releaseLocks}`;
  return `SET CONSTRAINTS ALL IMMEDIATE;${restoreMessage(announces)};${command}`;
}

export function restoreMessage(announces: boolean): string {
  const signals = announces ? [`SET ${signalsAfterCommitSetting} = on`] : [];
  return [...restoring, ...signals].join(";");
}

/** SQL: true if a function can change a session's settings, locks, channels or temporary tables. */
export const changingFunctions = `SELECT EXISTS (SELECT FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_language l ON l.oid = p.prolang AND l.lanname NOT IN ('internal', 'c')
  WHERE p.pronamespace NOT IN (SELECT oid FROM pg_catalog.pg_namespace
    WHERE nspname IN ('pg_catalog', 'information_schema'))
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.deptype = 'e' AND d.objid = p.oid)
  AND (p.prosrc ~* '\\mset_config\\M.*\\m(false|f|0)\\M'
    OR p.prosrc ~* '(^|;|''|\\m(begin|then|else|loop))\\s*set\\s+(?!(local|constraints)\\M)'
    OR p.prosrc ~* '\\m(pg_(try_)?advisory_lock|listen|create\\s+temp)'))`;

/** Matches statements that can fire a trigger. */
export const writes = /^(?:INSERT|UPDATE|DELETE|MERGE|WITH|COMMIT)\b/;

/** The settings that affect later statements, and whose changes the server reports. */
export const reportedSettings: ReadonlySet<string> = new Set([
  ...["TimeZone", "DateStyle", "IntervalStyle", "client_encoding", "session_authorization"],
  ...["default_transaction_read_only", "search_path"],
]);
