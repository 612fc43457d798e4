import postgres from "postgres";
import type { Clock } from "../runtime/runtime.ts";
import { systemRuntime } from "../runtime/system_runtime.ts";
import type { Driver } from "./driver.ts";
import { type PostgresAnswer, postgresDriver, type PostgresSession } from "./postgres_sessions.ts";

/** How a Postgres is reached. */
export interface PostgresOptions {
  /** Every transaction is read-only. */
  readonly readOnly?: boolean | undefined;
  /** The most connections; 10 by default. */
  readonly maxConnections?: number | undefined;
  /** How long a request waits for a connection, and how long connecting may take. 5,000 by default. */
  readonly waitLimitMs?: number | undefined;
  /** The server ends a statement that runs longer; 15,000 by default. */
  readonly statementTimeoutMs?: number | undefined;
  /** The time of the machine by default. */
  readonly clock?: Clock | undefined;
}

/**
 * Connects to a Postgres server. `?prepare=false` in the URL is for poolers that lend a connection
 * by the transaction: then nothing is prepared and no setting is sent that they refuse, so that
 * the time limit of statements has to be set on the role.
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Driver> {
  const clock = options.clock ?? systemRuntime(() => {}).clock;
  const waitLimitMs = options.waitLimitMs ?? 5_000;
  const driver = postgresDriver({
    label: url.replace(/\/\/[^/]*@/, "//").replace(/\?.*$/, ""),
    sessions: Array.from(
      { length: options.maxConnections ?? 10 },
      () => session(url, options, waitLimitMs),
    ),
    waitLimitMs,
    clock,
    close: () => Promise.resolve(),
  });
  try {
    await driver.query({ text: "SELECT 1", values: [] });
    return driver;
  } catch (error) {
    await driver.close();
    throw error;
  }
}

/** The most statements that a connection keeps prepared: the library never forgets one. */
const maxPrepared = 500;

/**
 * One connection: a client of the library with a pool of one. When it is lost, the next statement
 * makes a new client, because the library's own second connection would answer the first statement
 * with the error that the lost one died of.
 */
function session(url: string, options: PostgresOptions, waitLimitMs: number): PostgresSession {
  const pooled = /[?&]prepare=false(&|$)/.test(url);
  const prepared = new Set<string>();
  let client: postgres.Sql | null = null;
  let losses = 0;

  function connect(): postgres.Sql {
    return postgres(url, {
      max: 1,
      prepare: !pooled,
      connect_timeout: Math.ceil(waitLimitMs / 1000),
      // A timer of the library could end a connection in the middle of a transaction.
      idle_timeout: 0,
      max_lifetime: null,
      fetch_types: false,
      types: { text: asText },
      connection: settings(options, pooled),
      onnotice: () => {},
      onclose() {
        client = null;
        losses += 1;
        prepared.clear();
      },
    });
  }

  function prepares(text: string): boolean {
    if (prepared.has(text)) return true;
    if (prepared.size >= maxPrepared) return false;
    prepared.add(text);
    return true;
  }

  return {
    get losses() {
      return losses;
    },
    async run(text, values): Promise<PostgresAnswer> {
      // Without `simple: false`, which the declarations lack, a statement without values would go
      // by the protocol that takes several statements at once.
      const how = { prepare: !pooled && prepares(text), simple: false };
      client ??= connect();
      const answer = await client.unsafe(text, [...values], how).values();
      return { rows: [...answer], command: answer.command, count: answer.count };
    },
    async close() {
      await client?.end({ timeout: waitLimitMs / 1000 });
    },
  };
}

/** Every value crosses as text: the library's own conversions lose digits, and change bad values. */
const asText: postgres.PostgresType<string> = {
  to: 25,
  // Each type that the library would convert: text, numbers, json, bool, times, bytea.
  from: [25, 21, 23, 26, 700, 701, 114, 3802, 16, 1082, 1114, 1184, 17],
  serialize: (value: string) => value,
  parse: (text: string) => text,
};

/** Poolers refuse what they do not know. What is sent here makes texts the same on every server. */
function settings(options: PostgresOptions, pooled: boolean): Record<string, string | number> {
  return {
    application_name: "resource-api",
    TimeZone: "UTC",
    DateStyle: "ISO, MDY",
    ...(options.readOnly === true ? { default_transaction_read_only: "on" } : {}),
    ...(pooled ? {} : {
      IntervalStyle: "postgres",
      bytea_output: "hex",
      extra_float_digits: 1,
      statement_timeout: options.statementTimeoutMs ?? 15_000,
    }),
  };
}
