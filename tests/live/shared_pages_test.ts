import { assertEquals } from "@std/assert";
import { gt, lt } from "../../src/filter/builders.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { testOnEngines } from "../support/http.ts";
import { withHub } from "./hub_support.ts";

const rows = table("rows", { id: integer().primaryKey(), title: text() });

testOnEngines(
  "a page that was read again does not keep the pages after it for longer than two seconds",
  (engine) =>
    withHub(engine, rows, {}, async (test) => {
      await test.sql("INSERT INTO rows (id, title) VALUES (1, 'old'), (9, 'old')");
      const first = { filter: lt(rows.id, 5) };
      const second = { filter: gt(rows.id, 5) };
      for (const request of [first, second]) {
        const stream = await test.subscribe(request);
        await stream.untilSynced();
        await stream.close();
      }
      await test.advance(1_500);
      await test.sql("UPDATE rows SET title = 'new'");
      // A position that is none: its page has to know of all that was written.
      const fresh = await test.subscribe({ ...first, resumeFrom: "nothing" });
      await fresh.untilSynced();
      await test.advance(1_000);
      const stream = await test.subscribe(second);
      const [existing] = await stream.untilSynced();
      assertEquals(existing?.data.items, [{ id: 9, title: "new" }]);
      await stream.close();
      await fresh.close();
    }),
);
