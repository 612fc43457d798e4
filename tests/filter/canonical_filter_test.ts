import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { canonicalFilterText } from "../../src/filter/canonical_filter.ts";
import { allRows, comparison, type Filter, noRows } from "../../src/filter/filter.ts";
import { rowMatches } from "../../src/filter/match/row_matches.ts";
import { createOperatorRegistry } from "../../src/filter/operators/operator_registry.ts";
import { printFilter } from "../../src/filter/syntax/print_filter.ts";
import type { Row } from "../../src/schema/table_info.ts";
import { sql } from "../../src/sql/fragment.ts";
import { filterOf, tableOf } from "./support.ts";

const things = tableOf({
  ...{ id: "integer", name: "text", title: "text", big: "bigint", price: "decimal" },
  ...{ at: "timestamp", ok: "boolean", data: "json" },
});
const key = (text: string) => canonicalFilterText(filterOf(text, things));

Deno.test("filters that are written differently and mean the same have one canonical text", () => {
  const same: readonly (readonly string[])[] = [
    ["id==1;name==b", "name==b;id==1", "(id==1;(name==b;id==1))", 'id==1;name=="b"'],
    ["id==1,name==b", "name==b,id==1,id==1"],
    ["id=in=(1,2,3)", "id=in=(3,1,2,2)", "id=in=[1,2,3]"],
    ["id=in=(1)", "id==1", 'id=="1"', "id=in=(1,1)"],
    ["id=out=(1)", "id!=1"],
    ["id>1", "id=gt=1"],
    ["name%=a%", 'name=like="a%"'],
    ["id==null", "id=isnull=true", "id=isempty=true"],
    ["at==2024-01-01", 'at=="2024-01-01T01:00:00+01:00"'],
    ["ok==1", "ok==true"],
    ["price==1.5", "price==1.50", "price==01.5"],
    ["data.a==1", "data.a==1.0", '"data"."a"==1e0', "data.a=in=(1,1.00)"],
    ['data.a=in=(1,"1",true)', 'data.a=in=(true,"1",1.0)'],
    ["(id==1,name==b);ok==true", "ok==true;(name==b,id==1)"],
  ];
  for (const group of same) {
    assertEquals(new Set(group.map(key)).size, 1, group.join("  "));
  }
  assertEquals(new Set(same.map(([text = ""]) => key(text))).size, same.length);
});

Deno.test("filters that mean different things never have one canonical text", () => {
  const texts = [
    ...["name==a", "title==a", "name!=a", 'name=="a,b"', "name=in=(a,b)", 'name=in=("a,b",c)'],
    ...['name=in=(a,"b,c")', 'name=="null"', "name==null", 'name=="[a"', "name==" + '"\\"a"'],
    ...['name=="a\\\\"', "name=ieq=a", "name%=a", "name=contains=a", "name=isempty=true"],
    ...["name=isnull=false", "name=length=1", "name=minlength=1", "id==1", "big==1", "price==1"],
    ...["id=between=(1,2)", "id=between=(2,1)", "id=in=(1,2)", "id=out=(1,2)"],
    ...["data=isnull=true", "data.a=isnull=true", "data.a=isempty=true", "data.a.b==null"],
    ...["data.a==1", 'data.a=="1"', "data.a==true", 'data.a=="true"', "data.b==1", "data.a.b==1"],
    ...['data."a.b"==1', 'data.a==\'{"number":"1"}\''],
    ...["id==1;name==a", "id==1,name==a", "(id==1,name==a);ok==true", "id==1,(name==a;ok==true)"],
  ];
  const keys = texts.map(key);
  assertEquals(new Set(keys).size, texts.length);
  assertNotEquals(canonicalFilterText(allRows), canonicalFilterText(noRows));
});

Deno.test("the order of a custom operator's texts is kept", () => {
  const operator = createOperatorRegistry({
    "=near=": { toSql: () => sql`1 = 1`, matches: () => true },
  }).get("=near=")!;
  const at = (values: string[]) =>
    canonicalFilterText(comparison(operator, things.columns[1]!, values));
  assertNotEquals(at(["1", "2"]), at(["2", "1"]));
});

Deno.test("filters with one canonical text pass the same rows, and shuffled ones have it too", () => {
  const values = ["a", "b", '"', ",", "(", "\\", "", "null", "[]", '","'];
  const leaf = fc.record({
    column: fc.constantFrom("name", "title"),
    symbol: fc.constantFrom("==", "!=", "=in=", "=out=", "%=", "=contains=", "<"),
    values: fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }),
  }).map(({ column, symbol, values }): Filter => {
    const operator = createOperatorRegistry({}).get(symbol)!;
    const given = operator.takes === "list" ? values : values.slice(0, 1);
    const safe = operator.takes === "pattern"
      ? given.map((text) => text.replace("\\", "%"))
      : given;
    return comparison(operator, things.byName.get(column)!, safe);
  });
  const { tree } = fc.letrec<{ tree: Filter }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.record({
        kind: fc.constantFrom("and" as const, "or" as const),
        terms: fc.array(tie("tree"), { minLength: 1, maxLength: 3 }),
      }),
    ),
  }));
  const rows: Row[] = values.flatMap((name) => values.map((title) => ({ name, title })));
  const answersOf = (filter: Filter) => rows.map((row) => rowMatches(filter, row) ? 1 : 0).join("");
  const seen = new Map<string, { readonly answers: string; readonly text: string }>();
  let shared = 0;
  fc.assert(
    fc.property(tree, (filter) => {
      const text = canonicalFilterText(filter);
      assertEquals(canonicalFilterText(reversed(filter)), text);
      const answers = answersOf(filter);
      const known = seen.get(text);
      if (known !== undefined) shared++;
      assertEquals(known?.answers ?? answers, answers, `${known?.text} / ${printFilter(filter)}`);
      seen.set(text, { answers, text: printFilter(filter) });
    }),
    { numRuns: 20_000 },
  );
  assert(shared > 500, "many filters meet another one with their key");
});

/** An equivalent filter: everything without an order reversed, and some of it repeated. */
function reversed(filter: Filter): Filter {
  if (filter.kind === "and" || filter.kind === "or") {
    const terms = filter.terms.map(reversed).reverse();
    return { kind: filter.kind, terms: [...terms, ...terms.slice(0, 1)] };
  }
  if (filter.kind !== "compare" || filter.operator.takes !== "list") return filter;
  return { ...filter, values: [...filter.values].reverse() };
}
