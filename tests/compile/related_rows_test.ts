import { assertEquals } from "@std/assert";
import { compileRelatedRows } from "../../src/compile/related_rows.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { allRows } from "../../src/filter/filter.ts";
import type { RelatedPlan } from "../../src/plan/plan.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { resolveRelations } from "../../src/resource/define/resolve_relations.ts";
import { toStatement } from "../../src/sql/fragment.ts";
import { runScript } from "../support/scratch.ts";

const script = `
CREATE TABLE club (id INTEGER PRIMARY KEY, town TEXT, number TEXT, UNIQUE (town, number));
CREATE TABLE member (id INTEGER PRIMARY KEY, club_id INT REFERENCES club, town TEXT, number TEXT,
  FOREIGN KEY (town, number) REFERENCES club (town, number))`;

Deno.test("SQLite went through all keys of an include for each row of a table without an index", async () => {
  const db = await openDatabase("node-sqlite::memory:");
  try {
    await runScript(db.driver, script);
    const { tables } = await db.introspect();
    const definitions = tables.map((table) =>
      resource(table, { id: ["id"], auth: { public: { read: true } } })
    );
    const [club] = definitions;
    const relations = [...resolveRelations(definitions, db.driver).entries()]
      .flatMap(([definition, named]) => definition === club ? [...named.values()] : []);
    assertEquals(relations.map(({ target, steps: [{ pairs }] }) => [target.name, pairs.length]), [
      ["member", 1],
      ["member", 2],
    ]);
    for (const relation of relations) {
      const { columns, primaryKey } = relation.target;
      const plan: RelatedPlan = {
        ...{ kind: "related", relation, columns, where: allRows, links: allRows },
        keys: [relation.steps[0].pairs.map(() => 1)],
        order: primaryKey.map((column) => ({ column, descending: false })),
        ...{ limit: 5, most: 10, byIndex: false, isUnindexed: true },
      };
      const { text, values } = toStatement(
        compileRelatedRows(plan, db.dialect),
        db.dialect.placeholder,
      );
      const { rows } = await db.driver.query({ text: `EXPLAIN QUERY PLAN ${text}`, values });
      const steps = rows.map((row) => String(row.at(-1)));
      assertEquals(steps.filter((step) => /^SCAN member|^LIST/.test(step)), [
        "SCAN member",
        steps.find((step) => /^LIST SUBQUERY/.test(step)),
      ]);
    }
  } finally {
    await db.close();
  }
});
