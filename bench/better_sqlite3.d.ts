/** The part of better-sqlite3 that the benchmarks use, because the package contains no types. */
declare class Database {
  constructor(path: string);
  prepare(text: string): Statement;
  pragma(text: string): unknown;
  exec(text: string): this;
  close(): this;
}

interface Statement {
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
  run(...values: unknown[]): unknown;
}

export default Database;
