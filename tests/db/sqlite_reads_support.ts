import type { ReadLimits } from "../../src/db/driver.ts";
import { betterSqlite3 } from "../../src/engines/sqlite/driver/better_sqlite3_library.ts";
import { nodeSqlite } from "../../src/engines/sqlite/driver/node_sqlite_library.ts";
import type { SqliteLibrary } from "../../src/engines/sqlite/driver/sqlite_library.ts";
import type { Clock } from "../../src/runtime/runtime.ts";
import type { Statement } from "../../src/sql/fragment.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";

/** The libraries that a SQLite driver is made with. */
export const sqliteLibraries: readonly SqliteLibrary[] = [betterSqlite3, nodeSqlite];

/** Limits of which no read falls short, but for those that a test sets. */
export function readLimits(limits: Partial<ReadLimits> = {}): ReadLimits {
  return {
    identity: "ada",
    signal: new AbortController().signal,
    maxBytes: 16 * 1024 * 1024,
    timeoutMs: 60_000,
    ...limits,
  };
}

/** A clock by which each look at it takes a millisecond, so that the looks are what is limited. */
export function clockOfLooks(): Clock & { readonly looks: number } {
  let looks = 0;
  return {
    ...systemClock,
    elapsedMs: () => ++looks,
    get looks() {
      return looks;
    },
  };
}

/** A library that counts the statements with rows which it runs in this thread, and their rows. */
export function countingRows(
  library: SqliteLibrary,
): SqliteLibrary & { readonly rows: number; readonly runs: number } {
  let rows = 0;
  let runs = 0;
  return {
    ...library,
    get runs() {
      return runs;
    },
    get rows() {
      return rows;
    },
    open(path, readOnly, extensions) {
      const handle = library.open(path, readOnly, extensions);
      return {
        get inTransaction() {
          return handle.inTransaction;
        },
        prepare(text) {
          const statement = handle.prepare(text);
          return {
            ...statement,
            all(values, exact) {
              runs++;
              const all = statement.all(values, exact);
              rows += all?.length ?? 0;
              return all;
            },
          };
        },
        defineFunction: (name, work) => handle.defineFunction(name, work),
        defineCheck: (name, work) => handle.defineCheck(name, work),
        defineFree: (name, deterministic, work) => handle.defineFree(name, deterministic, work),
        defineAggregate: (name, work) => handle.defineAggregate(name, work),
        close: () => handle.close(),
      };
    },
  };
}

/** A statement that ends by the check of the time alone. */
export const endless: Statement = {
  text: `WITH RECURSIVE n(i) AS (
    SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE abs(service_time_check(NULL))
  ) SELECT count(*) FROM n`,
  values: [],
};
