/**
 * The interface for a custom database driver, which `openDatabase` accepts instead of a URL.
 *
 * @module
 */
export type {
  Connection,
  DatabaseIdentity,
  Driver,
  DriverReplica,
  DriverThreads,
  PoolUsage,
  QueryResult,
  ReadLimits,
  ReplicaCounts,
  ResultColumn,
  SignalChannel,
  Signals,
} from "../src/db/driver.ts";
export type { DatabaseErrorKind, FailedConstraint, RaisedError } from "../src/db/database_error.ts";
