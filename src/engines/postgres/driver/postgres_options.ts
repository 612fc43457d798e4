import { type Described, group } from "../../../options/option.ts";
import { callback, timerMs, whole } from "../../../options/option_kinds.ts";
import type { Observer } from "../../../runtime/observation.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import { driverOptions } from "../../../db/driver_options.ts";

/** Options of a connection to a Postgres server by postgres.js. */
export interface PostgresOptions {
  /** Every transaction is read-only. */
  readonly readOnly?: boolean | undefined;
  /** The most connections; 10 by default. */
  readonly maxConnections?: number | undefined;
  /**
   * How many of them reads may hold that can look at many rows: lists, counts, aggregates, included
   * rows. Half of them by default. The others are left to reads by key and to writes.
   */
  readonly maxReadConnections?: number | undefined;
  /**
   * True if clients see the messages that triggers and functions raise on purpose; true by default.
   */
  readonly raisedMessages?: boolean | undefined;
  /** How long a request waits for a connection or a lock, and for connecting. 5,000 by default. */
  readonly waitLimitMs?: number | undefined;
  /** The server ends a statement that runs longer; 15,000 by default. */
  readonly statementTimeoutMs?: number | undefined;
  /**
   * How many further processes of the server may work for one statement (its setting
   * `max_parallel_workers_per_gather`); none by default, so that one request never takes several of
   * the server's processors.
   */
  readonly maxParallelWorkers?: number | undefined;
  /** The time of the machine by default. */
  readonly clock?: Clock | undefined;
  /** Receives the notice that the server cannot be reached now. */
  readonly observe?: Observer | undefined;
}

/** The options of a Postgres driver, described. */
export const postgresOptions = group(
  {
    ...driverOptions,
    maxConnections: whole({ from: 1 }).unlessSet(10),
    // The default depends on the number of connections.
    maxReadConnections: whole({ from: 1 }),
    statementTimeoutMs: timerMs().unlessSet(15_000),
    // 1,024 is the greatest value that the server takes.
    maxParallelWorkers: whole({ from: 0, to: 1_024 }).unlessSet(0),
    observe: callback<Observer>(),
  } satisfies Described<PostgresOptions>,
).required();
