import { type Described, group } from "../../../options/option.ts";
import { callback, timerMs, whole } from "../../../options/option_kinds.ts";
import type { Observer } from "../../../runtime/runtime.ts";
import { driverOptionRules, type DriverOptions } from "../../../db/driver_options.ts";

/** Options of a connection to a Postgres server by postgres.js. */
export interface PostgresOptions extends DriverOptions {
  /** The maximum number of connections. Default: 10. */
  readonly maxConnections?: number | undefined;
  /** Maximum connections for lists, counts, aggregates and includes. Default: half of all. */
  readonly maxReadConnections?: number | undefined;
  /** The time limit of a statement on the server, in milliseconds. Default: 15,000. */
  readonly statementTimeoutMs?: number | undefined;
  /** Maximum extra processes of a statement (`max_parallel_workers_per_gather`). Default: 0. */
  readonly maxParallelWorkers?: number | undefined;
  /** Receives a notice if the server cannot be reached. */
  readonly observe?: Observer | undefined;
}

export const postgresOptionRules = group(
  {
    ...driverOptionRules,
    maxConnections: whole({ from: 1 }).default(10),
    // The default of this option is half of `maxConnections`, which is not known here.
    maxReadConnections: whole({ from: 1 }),
    statementTimeoutMs: timerMs().default(15_000),
    // Postgres accepts at most 1,024.
    maxParallelWorkers: whole({ from: 0, to: 1_024 }).default(0),
    observe: callback<Observer>(),
  } satisfies Described<PostgresOptions>,
).required();
