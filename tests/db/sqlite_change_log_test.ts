import { assertEquals } from "@std/assert";
import { integer, json, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/define.ts";
import { engines } from "../support/engines.ts";
import { run } from "../support/scratch.ts";
import { assertChanges, openLog } from "./change_log_support.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text(), data: json() });

for (const engine of engines.filter(({ name }) => name.includes("sqlite"))) {
  Deno.test(`${engine.name}: smoke`, async () => {
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
    await assertChanges(log, () => run(db, `REPLACE INTO notes VALUES (1,'c',NULL)`), [
      ["delete", { id: 1, title: "a", data: { x: 1 } }, null],
      ["insert", null, { id: 1, title: "c", data: null }],
    ]);
    const at = await log.readAt({
      text: "SELECT id, title FROM notes ORDER BY id DESC",
      values: [],
    });
    assertEquals(at.rows, [[2, "b"], [1, "c"]]);
    assertEquals(log.parse(log.print(at.position)), at.position);
    await log.close();
    await db.close();
  });
}
