import { assertEquals } from "@std/assert";
import { integer, json, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/define.ts";
import { testOnEngines } from "../support/http.ts";
import { run } from "../support/scratch.ts";
import { assertChanges, openLog } from "./change_log_support.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text(), data: json() });

testOnEngines("smoke", async (engine) => {
  const db = await engine.open();
  await db.createTables([notes]);
  const log = await openLog(db, [notes]);
  await assertChanges(
    log,
    () => run(db, `INSERT INTO notes VALUES (1,'a','{"x":1}'),(2,'b',NULL)`),
    [
      ["insert", null, { id: 1, title: "a", data: { x: 1 } }],
      ["insert", null, { id: 2, title: "b", data: null }],
    ],
  );
  const at = await log.readAt({ text: "SELECT id, title FROM notes ORDER BY id DESC", values: [] });
  assertEquals(at.rows.map(([id]) => Number(id)), [2, 1]);
  assertEquals(log.parse(log.print(at.position)), at.position);
  await log.close();
  await db.close();
});
