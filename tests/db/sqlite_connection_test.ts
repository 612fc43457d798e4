import { assert, assertEquals } from "@std/assert";
import { RowBytes, StatementDeadline } from "../../src/engines/sqlite/driver/read_limits.ts";
import {
  maxPreparedStatements,
  sqliteConnection,
  type StatementLimitChecks,
} from "../../src/engines/sqlite/driver/sqlite_connection.ts";
import type {
  SqliteHandle,
  SqliteStatement,
} from "../../src/engines/sqlite/driver/sqlite_library.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";
import type { SqlValue } from "../../src/sql/fragment.ts";

Deno.test("a statement is prepared once, until too many others have come", () => {
  const { handle, prepared } = fakeHandle(() => [[1]]);
  const connection = sqliteConnection(handle, checks());
  const run = (n: number) => connection.run({ text: `SELECT ${n}`, values: [] });
  run(0);
  run(0);
  assertEquals(prepared, ["SELECT 0"]);
  for (let n = 1; n <= maxPreparedStatements; n++) run(n);
  run(maxPreparedStatements);
  run(0);
  assertEquals(prepared.length, maxPreparedStatements + 2);
  assertEquals(prepared.at(-1), "SELECT 0");
});

Deno.test("a prepared EXPLAIN was kept, and ended the process after a change of its tables", () => {
  const { handle, prepared } = fakeHandle(() => [[1]]);
  const connection = sqliteConnection(handle, checks());
  const texts = ["EXPLAIN DELETE FROM notes", "explain query plan SELECT 1"];
  for (const text of texts) {
    connection.run({ text, values: [] });
    connection.run({ text, values: [] });
  }
  assertEquals(prepared, texts.flatMap((text) => [text, text]));
});

Deno.test("500 statements stayed prepared, however long their texts are", () => {
  const { handle, prepared } = fakeHandle(() => [[1]]);
  const connection = sqliteConnection(handle, checks());
  const texts = Array.from({ length: 400 }, (_, n) => `SELECT ${n}, ${"?, ".repeat(10_000)}1`);
  for (const text of texts) connection.run({ text, values: [] });
  let kept = 0;
  // From the last one, because each that is prepared takes the place of others.
  for (const text of texts.toReversed()) {
    const before = prepared.length;
    connection.run({ text, values: [] });
    if (prepared.length === before) kept += text.length;
  }
  assert(kept > 0 && kept <= 1024 * 1024, `${kept} characters`);
});

Deno.test("a read is repeated for an integer that lost digits, and is exact from then on", () => {
  for (const inexact of [2 ** 53 + 2, null]) {
    const asked: boolean[] = [];
    const { handle } = fakeHandle((exact) => {
      asked.push(exact);
      return exact ? [[9007199254740994n, 1n, 1.5, "x"]] : inexact === null ? null : [[inexact]];
    });
    const connection = sqliteConnection(handle, checks());
    const read = () => connection.run({ text: "SELECT", values: [] }).rows;
    assertEquals(read(), [[9007199254740994n, 1, 1.5, "x"]]);
    assertEquals(asked, [false, true]);
    read();
    assertEquals(asked, [false, true, true]);
  }
});

Deno.test("a statement that writes runs once, whatever it returns", () => {
  const asked: boolean[] = [];
  const { handle } = fakeHandle((exact) => {
    asked.push(exact);
    return [[9007199254740993n], [2n]];
  }, false);
  const result = sqliteConnection(handle, checks()).run({
    text: "INSERT … RETURNING",
    values: [],
  });
  assertEquals(asked, [true]);
  assertEquals(result, { rows: [[9007199254740993n], [2]], changed: 2 });
});

function checks(): StatementLimitChecks {
  return { deadline: new StatementDeadline(systemClock), rowBytes: new RowBytes() };
}

function fakeHandle(
  all: (exact: boolean) => SqlValue[][] | null,
  readOnly = true,
): { readonly handle: SqliteHandle; readonly prepared: readonly string[] } {
  const prepared: string[] = [];
  const statement: SqliteStatement = {
    readOnly,
    returnsRows: true,
    columnNames: () => [],
    run: () => 0,
    all: (_, exact) => all(exact),
    first: (_, exact) => all(exact),
  };
  return {
    prepared,
    handle: {
      inTransaction: false,
      prepare(text) {
        prepared.push(text);
        return statement;
      },
      defineFunction: () => {},
      defineCheck: () => {},
      defineFree: () => {},
      defineAggregate: () => {},
      close: () => {},
    },
  };
}
