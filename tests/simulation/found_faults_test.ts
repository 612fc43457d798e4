import { assertEquals } from "@std/assert";
import { resolveChangesOptions } from "../../src/db/changes/changes_options.ts";
import { openChangeLog } from "../../src/db/changes/open_change_log.ts";
import { printLogPosition } from "../../src/db/changes/log_position.ts";
import type { Driver } from "../../src/db/driver.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { items } from "./items_config.ts";

/** When another process writes, relative to a read. */
const moments = { "before the read": "query", "after the position": "reads" } as const;

for (const [when, member] of Object.entries(moments)) {
  Deno.test(`sqlite: a read without rows has its position, if others write ${when}`, async () => {
    const db = await openDatabase("sqlite::memory:");
    await db.createTables([items]);
    await db.query({ text: "INSERT INTO items (id, version) VALUES (1, 1)", values: [] });
    let isWriting = false;
    const write = async (place: string) => {
      if (!isWriting || place !== member) return;
      isWriting = false;
      await db.query({ text: "DELETE FROM items", values: [] });
    };
    const driver = driverOf(db.driver, write);
    const log = await openChangeLog({
      driver,
      tables: [tableInfoOf(items)],
      changes: resolveChangesOptions(),
      runtime: systemRuntime(() => {}),
    });
    isWriting = true;
    const statement = { text: "SELECT id FROM items WHERE id = 1", values: [] };
    const { rows, position } = await log.readAt(statement, limits);
    assertEquals(rows, []);
    assertEquals(printLogPosition(position), printLogPosition(await log.end()));
    await log.close();
    await db.close();
  });
}

const limits = {
  ...{ identity: "a", signal: new AbortController().signal },
  ...{ maxBytes: 1_000, timeoutMs: 1_000 },
};

/** A driver whose reads wait for a lock, while `write` runs. */
function driverOf(base: Driver, write: (place: string) => Promise<void>): Driver {
  return {
    dialect: base.dialect,
    label: base.label,
    isShared: false,
    signals: null,
    async query(statement) {
      await write("query");
      return await base.query(statement);
    },
    reads(limits) {
      const connection = base.reads(limits);
      return {
        async query(statement) {
          await write("reads");
          return await connection.query(statement);
        },
      };
    },
    transaction: (work) => base.transaction(work),
    onCommit: (listener) => base.onCommit(listener),
    close: () => Promise.resolve(),
  };
}
