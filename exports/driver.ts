/**
 * The seam for a database driver of your own: what `openDatabase` takes in place of a URL.
 *
 * @module
 */
export type {
  Connection,
  Driver,
  DriverThreads,
  PoolUsage,
  QueryResult,
  ReadLimits,
  ResultColumn,
  SignalChannel,
  Signals,
} from "../src/db/driver.ts";
export type { DatabaseErrorKind, FailedConstraint, RaisedError } from "../src/db/database_error.ts";
