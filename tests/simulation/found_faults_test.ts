import { assertEquals } from "@std/assert";
import { resolveChangesOptions } from "../../src/db/changes/changes_options.ts";
import { openChangeLog } from "../../src/db/changes/open_change_log.ts";
import { printLogPosition } from "../../src/db/changes/log_position.ts";
import type { Driver } from "../../src/db/driver.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { items } from "./service.ts";

Deno.test("sqlite: the position of a read without rows precedes a write during the read", async () => {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([items]);
  let isWriting = false;
  const write = async () => {
    isWriting = false;
    await db.query({ text: "INSERT INTO items (id, version) VALUES (1, 1)", values: [] });
  };
  // A read waits while another process locks the file, and the process writes at that time.
  const driver: Driver = Object.create(db.driver, {
    query: {
      value: async (...args: Parameters<Driver["query"]>) => {
        if (isWriting) await write();
        return await db.driver.query(...args);
      },
    },
    reads: { value: (...args: Parameters<Driver["reads"]>) => db.driver.reads(...args) },
    transaction: {
      value: (...args: Parameters<Driver["transaction"]>) => db.driver.transaction(...args),
    },
    onCommit: { value: () => () => {} },
    isShared: { value: false },
  });
  const log = await openChangeLog({
    driver,
    tables: [tableInfoOf(items)],
    changes: resolveChangesOptions(),
    runtime: systemRuntime(() => {}),
  });
  isWriting = true;
  const limits = {
    ...{ identity: "a", signal: new AbortController().signal },
    ...{ maxBytes: 1_000, timeoutMs: 1_000 },
  };
  const statement = { text: "SELECT id FROM items WHERE id = 1", values: [] };
  const { rows, position } = await log.readAt(statement, limits);
  const written = await log.end();
  // Either the read has the row, or its position precedes the row.
  assertEquals(rows.length === 1, printLogPosition(position) === printLogPosition(written));
  await log.close();
  await db.close();
});
