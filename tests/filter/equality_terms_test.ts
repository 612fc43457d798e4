import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { type EqualityTerm, equalityTerms } from "../../src/filter/match/equality_terms.ts";
import { allRows, type Filter, noRows } from "../../src/filter/filter.ts";
import { rowMatches } from "../../src/filter/match/row_matches.ts";
import { filterOf, tableOf } from "./support.ts";

const things = tableOf({ id: "integer", a: "text", b: "text", n: "integer" });

/** `id=1 a=x`, or null. */
function shown(filter: Filter | string, isCertain = () => true): string | null {
  const tree = typeof filter === "string" ? filterOf(filter, things) : filter;
  return equalityTerms(tree, isCertain)?.map(({ column, value }) => `${column.name}=${value}`)
    .join(" ") ?? null;
}

Deno.test("an `and` is indexed by one of its conjuncts: the key, else the fewest values", () => {
  assertEquals(shown("a==x"), "a=x");
  assertEquals(shown("a==x;id=in=(1,2,3);b==y"), "id=1 id=2 id=3");
  assertEquals(shown("a=in=(x,y);b==z;n>1"), "b=z");
  assertEquals(shown("a!=x;n>1"), null);
  assertEquals(shown("a==x;(b==y,b==z)"), "a=x");
  const many = Array.from({ length: 17 }, (_, id) => id).join(",");
  assertEquals(shown(`id=in=(${many})`), null);
  assertEquals(shown(`id=in=(${many});a==x`), "a=x");
});

Deno.test("an `or` is indexed by all of its branches, or not at all", () => {
  assertEquals(shown("a==x,b==y"), "a=x b=y");
  assertEquals(shown("a==x,n>1"), null);
  assertEquals(shown("a==x,(b==y;n>1)"), "a=x b=y");
  const half = Array.from({ length: 9 }, (_, id) => id).join(",");
  assertEquals(shown(`n=in=(${half}),a=in=(${half})`), null);
});

Deno.test("`all` has no terms, and `none` needs none", () => {
  assertEquals([shown(allRows), shown(noRows)], [null, ""]);
});

Deno.test("an equality that memory may not decide gives no term", () => {
  assertEquals(shown("a==x", () => false), null);
});

Deno.test("every row that passes satisfies one of the terms", () => {
  const values = ["x", "y", "z"];
  const leaf = fc.constantFrom(
    ...["a==x", "a!=x", "b=in=(x,y)", "b==z", "n==1", "n>1", "id==1", "id=in=(1,2)", "a==null"],
    ...["a=out=(x)", "b=isempty=true", "id=between=(1,2)"],
  ).map((text) => filterOf(text, things));
  const { tree } = fc.letrec<{ tree: Filter }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.record({
        kind: fc.constantFrom("and" as const, "or" as const),
        terms: fc.array(tie("tree"), { minLength: 1, maxLength: 3 }),
      }),
    ),
  }));
  const rows = [1, 2].flatMap((id) =>
    [1, 2].flatMap((n) =>
      [...values, null].flatMap((a) => [...values, null].map((b) => ({ id, n, a, b })))
    )
  );
  let found = 0;
  fc.assert(
    fc.property(tree, (filter) => {
      const terms = equalityTerms(filter, () => true);
      if (terms === null) return;
      for (const row of rows.filter((row) => rowMatches(filter, row))) {
        found++;
        const has = ({ column, value }: EqualityTerm) =>
          Object.entries(row).some(([name, own]) => name === column.name && own === value);
        assertEquals(terms.some(has), true, JSON.stringify([row, shown(filter)]));
      }
    }),
    { numRuns: 5_000 },
  );
  assertEquals(found > 1_000, true);
});
