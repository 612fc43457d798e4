import { assert } from "@std/assert";
import { integer, openDatabase, table, text } from "../../mod.ts";
import { sqliteSearch } from "../../exports/search.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { runAfterPendingIo } from "../../src/runtime/runtime.ts";
import { systemClock, systemRuntime } from "../../src/runtime/system_runtime.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

Deno.test("while the words of a batch are written, the event loop has turns", async () => {
  const db = await openDatabase("sqlite::memory:");
  try {
    await db.createTables([notes]);
    // As if each document took six milliseconds.
    let elapsed = 0;
    const clock = { ...systemClock, elapsedMs: () => elapsed += 6 };
    const info = tableInfoOf(notes);
    const fields = info.columns.slice(1).map((column) => ({ column, weight: 1 }));
    const backend = sqliteSearch().openIndex(
      { name: "notes", table: info, fields, driver: db.driver },
      { ...systemRuntime(() => {}), clock },
    );
    await backend.prepare();
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) runAfterPendingIo(count);
    };
    count();
    await backend.write(
      Array.from({ length: 50 }, (_, at) => ({ key: [at], texts: ["word"], version: at + 1 })),
      { isAwaited: true },
    );
    isOver = true;
    assert(turns >= 49, `${turns}`);
  } finally {
    await db.close();
  }
});
