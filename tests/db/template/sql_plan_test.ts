import { assertEquals } from "@std/assert";
import { SqlPlans } from "../../../src/db/template/sql_plan.ts";
import { flattenTemplate, partsOf } from "../../../src/db/template/sql_parts.ts";
import { integer, text } from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });

/** Counts how often the texts of templates are read. */
function counted() {
  const plans = new SqlPlans();
  let count = 0;
  return {
    run(strings: readonly string[], ...values: readonly unknown[]) {
      const { parts, shape } = partsOf({ strings, values }, () => null);
      return plans.planOf(strings, shape, () => {
        count++;
        return flattenTemplate({ strings, values }, parts, () => null);
      });
    },
    get count() {
      return count;
    },
  };
}

Deno.test("the text of a statement was read again for each run", () => {
  const plans = counted();
  const find = (id: unknown) =>
    ((strings: TemplateStringsArray, ...values: unknown[]) => plans.run(strings, ...values))`
      SELECT ${notes.id} FROM ${notes} WHERE ${notes.id} = ${id}`;
  for (let id = 0; id < 100; id++) find(id);
  assertEquals(plans.count, 1);
});

Deno.test("one place in the source keeps a bounded number of plans", () => {
  const plans = counted();
  const strings = ["SELECT 1 AS ", ""];
  const named = (index: number) => plans.run(strings, integer().as(`name_${index}`));
  for (let index = 0; index < 1_000; index++) named(index);
  assertEquals(plans.count, 1_000);
  named(999);
  assertEquals(plans.count, 1_000);
  named(0);
  assertEquals(plans.count, 1_001);
});
