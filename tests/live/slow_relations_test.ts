import { relationStep } from "../../src/schema/relation.ts";
import { sqliteDriver } from "../../src/engines/sqlite/driver/open_sqlite_file.ts";
import { createTables } from "../../src/db/tables/create_tables.ts";
import { allRows, comparison, type Filter } from "../../src/filter/filter.ts";
import { equalOperator } from "../../src/filter/operators/operator_registry.ts";
import { createMatcher } from "../../src/live/match/matcher.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import type { ColumnInfo } from "../../src/schema/table_info.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { fails } from "../conformance/driver.ts";
import { clockOfLooks, sqliteLibraries } from "../db/sqlite_reads_support.ts";

const posts = table("posts", {
  id: integer().primaryKey(),
  authorId: integer().notNull().as("author_id"),
  title: text().notNull(),
});

for (const library of sqliteLibraries) {
  Deno.test(`a live filter along a relation kept all requests waiting at a write (${library.name})`, async () => {
    const driver = await sqliteDriver(library, ":memory:", { clock: clockOfLooks() }, 0);
    const info = tableInfoOf(posts);
    // The table has these three.
    const [id, authorId, title] = info.columns as [ColumnInfo, ColumnInfo, ColumnInfo];
    await createTables(driver, [info]);
    await driver.query({
      text: `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
        INSERT INTO posts SELECT i, 1, 't' FROM n`,
      values: [],
    });
    const filter: Filter = {
      kind: "related",
      relation: {
        ...{ name: "others", owner: info, target: info, type: "hasMany", filterable: true },
        ...{ toMany: true, steps: [relationStep(info, [{ own: authorId, other: authorId }])] },
      },
      filter: comparison(equalOperator, title, ["zzz"]),
      links: allRows,
    };
    const image = { row: { [id.name]: 1, [authorId.name]: 1, [title.name]: "t" } };
    const matcher = createMatcher(driver, systemRuntime(() => {}));
    await fails(matcher.evaluateInDatabase(info, [image], [filter], "uada"), "too-slow");
    await driver.close();
  });
}
