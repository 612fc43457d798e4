import { announcesSetting } from "../../sql/postgres/change_log_schema.ts";

/** What a session of Postgres is opened for. */
export interface SessionOptions {
  readonly readOnly?: boolean | undefined;
  readonly statementTimeoutMs?: number | undefined;
  readonly waitLimitMs: number;
  /** Whether a pooler lends it, by the transaction. */
  readonly isPooled: boolean;
  /** Whether its process signals behind commits. */
  readonly announces: boolean;
}

/**
 * The settings that a session begins with. Poolers refuse what they do not know. What is sent here
 * makes texts the same on every server.
 */
export function sessionSettings(
  { readOnly, statementTimeoutMs, waitLimitMs, isPooled, announces }: SessionOptions,
): Record<string, string | number> {
  return {
    application_name: "resource-api",
    TimeZone: "UTC",
    DateStyle: "ISO, MDY",
    ...(readOnly === true ? { default_transaction_read_only: "on" } : {}),
    ...(isPooled ? {} : {
      IntervalStyle: "postgres",
      bytea_output: "hex",
      extra_float_digits: 1,
      statement_timeout: statementTimeoutMs ?? 15_000,
      // Whoever waits for a lock keeps a connection from all others. 0 would be no limit.
      lock_timeout: Math.max(1, Math.ceil(waitLimitMs)),
      ...(announces ? { [announcesSetting]: "on" } : {}),
    }),
  };
}
