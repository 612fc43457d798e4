// The package has no types: the members in use are declared below.
// @ts-expect-error: see above
import BetterSqlite3 from "better-sqlite3";
import type { SqlValue } from "../../../sql/fragment.ts";
import {
  loadExtensions,
  type SqliteAggregate,
  type SqliteLibrary,
  type SqliteStatement,
} from "./sqlite_library.ts";

export function loadAddon(): void {
  new Database(":memory:").close();
}

export function pathOfBetterSqlite3(client: object): string | null {
  if (!(client instanceof Database)) {
    throw new Error(
      "Cannot open the file of this client: it is of another copy of better-sqlite3 than that of " +
        "the service, and the two would lose each other's writes",
    );
  }
  return client.memory ? null : client.name;
}

interface Database {
  readonly name: string;
  readonly memory: boolean;
  readonly inTransaction: boolean;
  prepare(text: string): Statement;
  function(
    name: string,
    options: { deterministic: boolean; safeIntegers: boolean; varargs?: boolean },
    work: (...values: never[]) => unknown,
  ): void;
  aggregate<State>(
    name: string,
    work: SqliteAggregate<State> & {
      deterministic: boolean;
      safeIntegers: boolean;
      varargs: boolean;
    },
  ): void;
  loadExtension(path: string): void;
  close(): void;
}

interface Statement {
  readonly readonly: boolean;
  readonly reader: boolean;
  raw(on: boolean): void;
  columns(): readonly { readonly name: string }[];
  safeIntegers(on: boolean): void;
  all(values: readonly SqlValue[]): SqlValue[][];
  get(values: readonly SqlValue[]): SqlValue[] | undefined;
  run(values: readonly SqlValue[]): { readonly changes: number };
}

// The cast is safe: the package's constructor has the interface above.
const Database = BetterSqlite3 as new (
  path: string,
  options?: { readonly: boolean; timeout: number },
) => Database;

export const betterSqlite3: SqliteLibrary = {
  name: "better-sqlite3",
  source: { module: import.meta.url, name: "betterSqlite3" },
  open(path, readOnly, extensions = []) {
    const database = new Database(path, { readonly: readOnly, timeout: 0 });
    loadExtensions(database, extensions);
    return {
      get inTransaction() {
        return database.inTransaction;
      },
      prepare: (text) => statementOf(database.prepare(text)),
      defineFunction: (name, work) =>
        database.function(name, { deterministic: true, safeIntegers: true }, work),
      defineCheck: (name, work) =>
        database.function(name, { deterministic: false, safeIntegers: false }, work),
      defineFree: (name, deterministic, work) =>
        database.function(name, { deterministic, safeIntegers: true, varargs: true }, work),
      defineAggregate: (name, { start, step, result }) =>
        database.aggregate(name, {
          ...{ start, step, result },
          ...{ deterministic: true, safeIntegers: true, varargs: true },
        }),
      close: () => database.close(),
    };
  },
  errorName(error) {
    // Errors of Deno and Node also have a `code`, but only SQLite's codes begin with `SQLITE_`.
    const code = error instanceof Error && "code" in error ? error.code : null;
    return typeof code === "string" && code.startsWith("SQLITE_") ? code : null;
  },
};

function statementOf(statement: Statement): SqliteStatement {
  const returnsRows = statement.reader;
  if (returnsRows) statement.raw(true);
  let isExact = false;
  function readIntegers(exact: boolean): void {
    if (exact !== isExact) statement.safeIntegers(isExact = exact);
  }
  return {
    readOnly: statement.readonly,
    returnsRows,
    columnNames: () => statement.columns().map(({ name }) => name),
    run: (values) => statement.run(values).changes,
    all(values, exact) {
      readIntegers(exact);
      return statement.all(values);
    },
    first(values, exact) {
      readIntegers(exact);
      const row = statement.get(values);
      return row === undefined ? [] : [row];
    },
  };
}
