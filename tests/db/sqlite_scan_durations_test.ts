/** The thread and the time limit of a count on SQLite, by the duration that its SQL had before. */
import { assertEquals } from "@std/assert";
import { createCompiler } from "../../src/compile/compile.ts";
import { DatabaseError } from "../../src/db/database_error.ts";
import type { ReadLimits } from "../../src/db/driver.ts";
import { betterSqlite3 } from "../../src/engines/sqlite/driver/better_sqlite3_library.ts";
import { LimitedReads } from "../../src/engines/sqlite/driver/reads/limited_read.ts";
import { ReaderThreads } from "../../src/engines/sqlite/driver/reads/reader_threads.ts";
import { sqliteDialect } from "../../src/engines/sqlite/sql/dialect.ts";
import { sqliteText } from "../../src/engines/sqlite/sql/text_operators.ts";
import { allRows } from "../../src/filter/filter.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";

const info = tableInfoOf(table("notes", { id: integer().primaryKey(), body: text() }));
const count = createCompiler(sqliteDialect({ text: sqliteText }))({
  kind: "count",
  table: info,
  where: allRows,
});
/** The time limit of a read in a thread. Without threads, the read runs in this thread. */
const timeoutMs = 5_000;

Deno.test("a count that was short before has 8 ms, and 2 ms before a sort", async () => {
  const { read, limits } = counts();
  await read(1);
  await read(1);
  assertEquals(limits, [[10, 2.5], [8, 2]]);
});

Deno.test("a count that took longer than 2 ms before begins in a thread", async () => {
  const { read, limits } = counts();
  await read(3);
  await read(1);
  assertEquals(limits, [[10, 2.5], [timeoutMs, timeoutMs]]);
});

Deno.test("a count that was ended in the main thread next begins in a thread", async () => {
  const { read, limits } = counts();
  await read(1);
  await read(9);
  await read(1);
  const inThread = [timeoutMs, timeoutMs] as const;
  assertEquals(limits, [[10, 2.5], [8, 2], inThread, inThread]);
});

Deno.test("after seven short runs of a count, one long run is ignored, and a second is not", async () => {
  const { read, limits } = counts();
  // The first run is what the service expects afterwards.
  for (let run = 0; run < 8; run++) await read(1);
  await read(3);
  await read(1);
  await read(3);
  await read(1);
  assertEquals(limits.slice(8), [[8, 2], [8, 2], [8, 2], [timeoutMs, timeoutMs]]);
});

Deno.test("three long runs in succession are ignored, however many short runs preceded", async () => {
  const { read, limits } = counts();
  for (let run = 0; run < 100; run++) await read(1);
  for (let run = 0; run < 4; run++) await read(3);
  await read(1);
  assertEquals(limits.slice(100), [...Array(4).fill([8, 2]), [timeoutMs, timeoutMs]]);
});

/** Reads of a table whose rows are counted in a given time. */
function counts() {
  let now = 0;
  let takesMs = 0;
  const limits: (readonly [number, number])[] = [];
  const clock = { ...systemClock, elapsedMs: () => now };
  const { source: library } = betterSqlite3;
  const reads = new LimitedReads({
    clock,
    takeLongestWritten: () => 0,
    threads: new ReaderThreads({
      ...{
        path: "",
        label: "",
        library,
        additions: { functions: null, extensions: [] },
        maxThreads: 0,
        clock,
      },
    }),
    reader: {
      inTransaction: false,
      kindOf: () => "read",
      checksTime: () => true,
      run: () => ({ rows: [[10_000_000]], changed: 0 }),
      read({ text }, { time }) {
        if (text !== count.text) return { rows: [[100]], changed: 0 };
        const limit = time.limitMs(now, false);
        limits.push([limit, time.limitMs(now, true)]);
        now += takesMs;
        if (takesMs > limit) throw new DatabaseError("too-slow", null);
        return { rows: [[7]], changed: 0 };
      },
      takeMaxBoundLength: () => 0,
      close() {},
    },
  });
  const { signal } = new AbortController();
  const all: ReadLimits = { identity: "", signal, maxBytes: 1_000_000, timeoutMs };
  return {
    limits,
    async read(ms: number) {
      takesMs = ms;
      assertEquals((await reads.of(all)(count)).rows, [[7]]);
    },
  };
}
