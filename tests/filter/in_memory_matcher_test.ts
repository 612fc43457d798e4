import { assert, assertEquals } from "@std/assert";
import {
  type CertifiedComparisons,
  createCertifiedComparisons,
} from "../../src/filter/match/certified_comparisons.ts";
import {
  allRows,
  and,
  comparison,
  type Filter,
  or,
  termsOnSameRow,
} from "../../src/filter/filter.ts";
import {
  comparisonsToCheck,
  createInMemoryMatcher,
  createSampler,
  mismatchedComparisons,
} from "../../src/filter/match/in_memory_matcher.ts";
import { createOperatorRegistry } from "../../src/filter/operators/operator_registry.ts";
import { type Relation, relationStep } from "../../src/schema/relation.ts";
import type { ColumnInfo } from "../../src/schema/table_info.ts";
import { sql } from "../../src/sql/fragment.ts";
import { postgresDialect } from "../../src/engines/postgres/sql/dialect.ts";
import { postgresText } from "../../src/engines/postgres/sql/text_operators.ts";
import { sqliteDialect } from "../../src/engines/sqlite/sql/dialect.ts";
import { sqliteText } from "../../src/engines/sqlite/sql/text_operators.ts";
import { attachStoredForms } from "../../src/filter/match/row_matches.ts";
import { filterOf, tableOf } from "./support.ts";

const things = tableOf({ id: "integer", name: "text", price: "decimal", owner: "integer" });
const sqlite = createCertifiedComparisons(sqliteDialect({ text: sqliteText }));
const postgres = createCertifiedComparisons(postgresDialect({ text: postgresText }));

// In the order in which they were named.
const [id, , , owner] = things.columns as readonly [ColumnInfo, ColumnInfo, ColumnInfo, ColumnInfo];
const relation: Relation = {
  ...{ name: "boss", owner: things, target: things, type: "belongsTo", filterable: true },
  ...{ toMany: false, steps: [relationStep(things, [{ own: owner, other: id }])] },
};
const ofRelation: Filter = { kind: "related", relation, filter: allRows, links: allRows };

Deno.test("an undecided term does not matter where another one decides the row", () => {
  const decide = createInMemoryMatcher(and(filterOf("owner==7", things), ofRelation), sqlite);
  assertEquals([decide({ row: { owner: 8 } }), decide({ row: { owner: 7 } })], [false, null]);
  const either = createInMemoryMatcher(or(ofRelation, filterOf("owner==7", things)), sqlite);
  assertEquals([either({ row: { owner: 8 } }), either({ row: { owner: 7 } })], [null, true]);
  assertEquals(isDecidableInMemory(and(filterOf("owner==7", things), ofRelation), sqlite), false);
  assertEquals(isDecidableInMemory(filterOf("owner==7,name==a", things), sqlite), true);
});

Deno.test("a column with the name of an inherited member is read from the row alone", () => {
  const table = tableOf({ constructor: "text" as const });
  const decide = createInMemoryMatcher(filterOf("constructor==null", table), sqlite);
  assertEquals([decide({ row: {} }), decide({ row: { constructor: "a" } })], [true, false]);
});

Deno.test("a value that does not fit its kind, or is inexact, leaves a row undecided", () => {
  const decide = createInMemoryMatcher(filterOf("owner>7", things), sqlite);
  assertEquals(decide({ row: { owner: "many" } }), null);
  assertEquals(decide({ row: { owner: 1.5 } }), null);
  assertEquals(decide({ row: {} }), false);
  const row = { owner: 7 };
  attachStoredForms(row, ["7"], [owner], sqliteDialect({ text: sqliteText }));
  assertEquals(decide({ row }), null);
});

Deno.test("decimals with more digits than a double are decided where the engine stores them exactly", () => {
  const long = filterOf("price>0.10", things);
  assert(isDecidableInMemory(long, sqlite) && isDecidableInMemory(long, postgres));
  assert(long.kind === "compare");
  const { column, operator } = long;
  const longer = comparison(operator, column, ["1234567890.1234567"]);
  assertEquals([isDecidableInMemory(longer, sqlite), isDecidableInMemory(longer, postgres)], [
    false,
    true,
  ]);
});

Deno.test("columns of existing tables are decided where they compare as memory does", () => {
  const foreign = (kind: ColumnInfo["kind"], existingType: string) => (text: string) => {
    const column = { ...tableOf({ id: kind }).columns[0]!, existingType };
    const filter = filterOf(text, tableOf({ id: kind }));
    assert(filter.kind === "compare");
    const moved = comparison(filter.operator, column, filter.values);
    return [isDecidableInMemory(moved, sqlite), isDecidableInMemory(moved, postgres)];
  };
  assertEquals(foreign("text", "TEXT")("id==a"), [true, true]);
  assertEquals(foreign("text", "citext")("id=icontains=a"), [true, true]);
  assertEquals(foreign("text", "TEXT")("id>a"), [false, false]);
  assertEquals(foreign("text", "TEXT")("id=between=(a,b)"), [false, false]);
  assertEquals(foreign("integer", "integer")("id>1"), [true, true]);
  assertEquals(foreign("integer", "TEXT")("id==1"), [false, true]);
  assertEquals(foreign("real", "real")("id==0.1"), [true, false]);
  assertEquals(foreign("timestamp", "timestamp")("id>2024-01-01"), [false, true]);
  assertEquals(foreign("timestamp", "timestamp")("id==null"), [true, true]);
  assertEquals(foreign("uuid", "uuid")('id=="550e8400-e29b-41d4-a716-446655440000"'), [true, true]);
});

Deno.test("the shadow check finds the mismatched comparison, which is no longer trusted", () => {
  const wrong = createOperatorRegistry({
    "=near=": { toSql: () => sql`1 = 0`, matches: () => true },
  }).get("=near=")!;
  const certification = createCertifiedComparisons(sqliteDialect({ text: sqliteText }));
  const near = comparison(wrong, things.byName.get("name")!, ["x"]);
  const filter = and(filterOf("owner==7,owner==8", things), near, ofRelation);
  const image = { row: { owner: 7, name: "a" } };
  const questions = comparisonsToCheck(filter, image, certification);
  assertEquals(questions.length, 3);
  assertEquals(mismatchedComparisons(questions, [true, false, true], certification), []);
  assertEquals(mismatchedComparisons(questions, [true, false, false], certification), [
    near,
  ]);
  assertEquals(isDecidableInMemory(near, certification), true);
  certification.demote(near);
  assertEquals(isDecidableInMemory(near, certification), false);
  assertEquals(isDecidableInMemory(filterOf("name==x", things), certification), true);
  assertEquals(comparisonsToCheck(filter, image, certification).length, 2);
});

Deno.test("about one decision of a thousand is sampled", () => {
  const isSampled = createSampler({
    bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
  });
  let count = 0;
  for (let call = 0; call < 1_000_000; call++) if (isSampled()) count++;
  assert(count > 800 && count < 1_200, `${count} of a million`);
});

/** Returns true if memory can decide the filter for every row with valid values. */
function isDecidableInMemory(filter: Filter, certification: CertifiedComparisons): boolean {
  if (filter.kind === "compare") return certification.isCertain(filter);
  return filter.kind !== "related" &&
    termsOnSameRow(filter).every((term) => isDecidableInMemory(term, certification));
}
