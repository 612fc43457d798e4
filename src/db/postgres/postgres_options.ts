import { type Described, group } from "../../options/option.ts";
import { callback, timerMs, whole } from "../../options/option_kinds.ts";
import type { Observer } from "../../runtime/observation.ts";
import { driverOptions } from "../driver_options.ts";
import type { PostgresOptions } from "./postgres_js_connection.ts";

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
