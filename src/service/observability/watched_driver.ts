import type { Connection, Driver, QueryResult } from "../../db/driver.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Statement } from "../../sql/fragment.ts";

export type WatchEnd = (error: unknown) => void;

type WatchStatement = (statement: Statement) => WatchEnd;

export interface DriverWatch {
  /**
   * Called before a transaction, and before a statement outside of a transaction. The driver
   * calls the returned function before each statement. This call can be in the context of another
   * request, because requests share transactions.
   */
  readonly statements?: (() => WatchStatement) | undefined;
  readonly transaction?: (() => WatchEnd) | undefined;
}

export function watchedDriver(driver: Driver, watch: DriverWatch, base?: Driver): Driver {
  const { statements: ofStatements, transaction: ofTransaction } = watch;
  const watched = (connection: Connection): Connection =>
    ofStatements === undefined
      ? connection
      : { query: (statement) => watchedQuery(connection, statement, ofStatements()) };
  const written = (inner: Connection): Connection => ({
    query: (statement) =>
      ofTransaction === undefined || !isWrite.test(statement.text)
        ? inner.query(statement)
        : untilEnd(ofTransaction(), inner.query(statement)),
  });
  const { loneWrites, threads, replicas, poolUsage, observeBy } = driver;
  const self: Driver = {
    dialect: driver.dialect,
    label: driver.label,
    isShared: driver.isShared,
    signals: driver.signals,
    created: driver.created,
    ...written(watched(driver)),
    ...(loneWrites === undefined ? {} : { loneWrites: written(watched(loneWrites)) }),
    reads: (limits) => watched(driver.reads(limits)),
    limited: (limits, work) => driver.limited?.(limits, work) ?? work(),
    transaction(work) {
      const watchEach = ofStatements?.();
      const done = watchEach === undefined
        ? driver.transaction(work)
        : driver.transaction((inner) =>
          work({ query: (statement) => watchedQuery(inner, statement, watchEach) })
        );
      return ofTransaction === undefined ? done : whenOver(ofTransaction(), done);
    },
    onCommit: (listener) => driver.onCommit(listener),
    ...(threads === undefined ? {} : { threads }),
    ...(replicas === undefined ? {} : { replicas }),
    renewConnections: () => driver.renewConnections?.(),
    ...(poolUsage === undefined ? {} : { poolUsage: () => poolUsage.call(driver) }),
    ...(observeBy === undefined
      ? {}
      : { observeBy: (observe) => void observeBy.call(driver, observe) }),
    close: () => driver.close(),
    ...(base === undefined ? {} : { base }),
    ...(driver.as === undefined ? {} : {
      as: (identity) => {
        const acting = driver.as!(identity);
        return watchedDriver(acting, watch, acting.base === undefined ? undefined : self);
      },
    }),
  };
  return self;
}

function watchedQuery(
  connection: Connection,
  statement: Statement,
  watch: WatchStatement,
): MaybePromise<QueryResult> {
  return untilEnd(watch(statement), connection.query(statement));
}

/** Calls `end` after the operation. A synchronous result stays synchronous. */
function untilEnd(end: WatchEnd, result: MaybePromise<QueryResult>): MaybePromise<QueryResult> {
  if (result instanceof Promise) return whenOver(end, result);
  end(undefined);
  return result;
}

function whenOver<T>(end: WatchEnd, result: Promise<T>): Promise<T> {
  return result.then((value) => {
    end(undefined);
    return value;
  }, (error) => {
    end(error);
    throw error;
  });
}

const isWrite = /^(?:INSERT|UPDATE|DELETE)\b/;
