import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  all,
  eq,
  gt,
  gte,
  has,
  hasAll,
  inList,
  isNull,
  like,
  lt,
  lte,
  ne,
  none,
} from "../../src/filter/builders.ts";
import { type FilterText, rsql } from "../../src/filter/filter_text.ts";
import { and, type Filter, or } from "../../src/filter/filter.ts";
import { createOperatorRegistry } from "../../src/filter/operators/operator_registry.ts";
import { createCachingFilterParser } from "../../src/filter/syntax/caching_filter_parser.ts";
import { parseFilter } from "../../src/filter/syntax/parse_filter.ts";
import { printFilter } from "../../src/filter/syntax/print_filter.ts";
import { resolveFilter } from "../../src/filter/resolve_filter.ts";
import { resolveScopeFilter } from "../../src/filter/resolve_scope_filter.ts";
import { decimal, integer, json, real, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { filterOf, problemOf, tableOf } from "./support.ts";

const things = tableOf({
  id: "uuid",
  age: "integer",
  big: "bigint",
  name: "text",
  ts: "timestamp",
  day: "date",
  ok: "boolean",
  price: "decimal",
  score: "real",
  data: "json",
  file: "bytes",
});

Deno.test("values get the type of their column, quoted or not", () => {
  assertEquals(valuesOf("age==18"), [18]);
  assertEquals(valuesOf('age=="18"'), [18]);
  assertEquals(valuesOf("age==9007199254740993"), [9007199254740993n]);
  assertEquals(valuesOf("big==9007199254740993"), ["9007199254740993"]);
  assertEquals(valuesOf("name==007"), ["007"]);
  assertEquals(valuesOf("name==true"), ["true"]);
  assertEquals(valuesOf("ok=in=(true,false)"), [true, false]);
  assertEquals(valuesOf("ts==2024-02-29"), ["2024-02-29T00:00:00.000Z"]);
  assertEquals(valuesOf('ts=="2024-02-29T01:00:00+01:00"'), ["2024-02-29T00:00:00.000Z"]);
  assertEquals(valuesOf("price=between=(1,2.5)"), ["1.00", "2.50"]);
  assertEquals(valuesOf("score==-1.5e3"), [-1500]);
});

Deno.test("null after == and != tests for NULL, of every kind; a quoted one is text", () => {
  for (const { name } of things.columns) {
    assertEquals(printFilter(filterOf(`${name}==null`, things)), `${name}=isnull=true`);
    assertEquals(printFilter(filterOf(`${name}!=null`, things)), `${name}=isnull=false`);
  }
  assertEquals(valuesOf('name=="null"'), ["null"]);
});

Deno.test("a value that does not fit its column is refused at its position", () => {
  const faults: readonly (readonly [string, number])[] = [
    ["age==abc", 5],
    ["age==1.5", 5],
    ["age==1e3", 5],
    ["age==99999999999999999999", 5],
    ['ts=="2024-02-30"', 4],
    ["ok==maybe", 4],
    ["id==1", 4],
    ["age=in=(1, 2, x)", 14],
    ["age=between=[1,x]", 15],
    ["price==1.234", 7],
  ];
  for (const [filter, position] of faults) assertEquals(faultOf(filter), position, filter);
});

Deno.test("the error for a timestamp whose + became a space has a hint; for a text it has none", () => {
  const problem = problemOf(() => filterOf('ts=="2024-01-01T00:00:00 01:00"', things));
  assertStringIncludes(problem.message, "; a + in a URL is a space: write %2B");
  assertEquals(String(problem.details?.expected).includes("%2B"), false);
  assertEquals(valuesOf('name=="2024-01-01T00:00:00 01:00"'), ["2024-01-01T00:00:00 01:00"]);
});

Deno.test("null anywhere else is refused at its position", () => {
  const faults: readonly (readonly [string, number])[] = [
    ["age>null", 4],
    ["age=in=(1,null)", 10],
    ["age=between=(null,1)", 13],
    ["name%=null", 6],
    ["name=contains=null", 14],
    ["age=isnull=null", 11],
    ["name==(null)", 6],
  ];
  for (const [filter, position] of faults) assertEquals(faultOf(filter), position, filter);
});

Deno.test("an operator that does not fit the kind is refused at the operator", () => {
  const faults: readonly string[] = [
    'age%="1%"',
    "age=contains=1",
    "age=length=1",
    "ok>true",
    "ok=between=(false,true)",
    "data==1",
    "data!=x",
    "data>1",
    'file>"eA=="',
    "file=contains=eA",
  ];
  for (const filter of faults) {
    assertEquals(faultOf(filter), filter.search(/[%=!>]/), filter);
  }
  assertEquals(printFilter(filterOf("data=isempty=true", things)), "data=isempty=true");
  for (const filter of ['file=="eA=="', 'file=in=("eA==","")', 'file!=""']) {
    assertEquals(printFilter(filterOf(filter, things)), filter);
  }
});

Deno.test("tests and lengths take bare words only", () => {
  assertEquals(faultOf('age=isnull="true"'), 11);
  assertEquals(faultOf("name=isempty=1"), 13);
  assertEquals(faultOf('name=length="1"'), 12);
  assertEquals(faultOf("name=minlength=1.5"), 15);
  assertEquals(valuesOf("name=length=99999999999"), [0x7fffffff]);
});

Deno.test("a pattern does not end in a lone backslash", () => {
  assertEquals(faultOf(String.raw`name%="50\\"`), 6);
  assertEquals(valuesOf(String.raw`name%="50\\\\"`), [String.raw`50\\`]);
});

Deno.test("a pattern with wildcards inside has at most 100 characters", () => {
  const longest = `%${"a".repeat(49)}_${"b".repeat(49)}`;
  assertEquals(valuesOf(`name%=${longest}`), [longest]);
  for (const operator of ["%=", "!%=", "=like=", "=ilike=", "=nilike="]) {
    assertEquals(faultOf(`name${operator}"${longest}c"`), 4 + operator.length);
  }
  const literal = "a".repeat(3000);
  for (const plain of [literal, `%${literal}`, `${literal}%`, `%${literal}\\_%`]) {
    assertEquals(valuesOf(`name%="${plain.replaceAll("\\", "\\\\")}"`), [plain]);
  }
  assertEquals(like(notes.ownerId, `${longest}c`), none());
});

Deno.test("unknown and forbidden fields give the same error, word for word but for the name", () => {
  const hidden = (filter: string) =>
    problemOf(() => {
      const syntax = parseFilter(filter)!;
      const operators = createOperatorRegistry({});
      resolveFilter(syntax, {
        table: things,
        operators,
        mayFilter: ({ name }) => name !== "age",
        readable: things.columns,
      });
    });
  const expected = hidden("age==1").toBody();
  for (const name of ["secret", "constructor", "__proto__", "toString", "age.x"]) {
    const { detail, ...body } = hidden(`${name}==1`).toBody();
    assertEquals({ ...body, detail: detail.replace(`"${name}"`, '"age"') }, expected);
  }
  assertEquals(hidden("age=foo=1").toBody(), expected);
  assertEquals(hidden("age%=null").toBody(), expected);
});

Deno.test("a custom operator receives its texts and is registered by its whole symbol", () => {
  const near = {
    toSql: () => {
      throw new Error("not compiled here");
    },
    matches: () => true,
  };
  const operators = createOperatorRegistry({ "=near=": near });
  const filter = resolveFilter(parseFilter('data=near=(1,"a")')!, {
    table: things,
    operators,
    mayFilter: () => true,
  });
  assertEquals(filter.kind === "compare" && filter.values, ["1", "a"]);
  assertEquals(createOperatorRegistry({}).has("=near="), false);
  for (const symbol of ["near", "==", "=in=", "=a b=", "=="]) {
    assertThrows(
      () => createOperatorRegistry({ [symbol]: near }),
      Error,
      "Cannot add the operator",
    );
  }
});

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text(),
  team: integer(),
});

Deno.test("values of rsql`` are data, whatever their content", () => {
  for (const hostile of ['x",ownerId!="', "x;1==1", "null", "true", "a\\", "\ufdd00", "%"]) {
    assertEquals(scope(rsql`ownerId==${hostile}`), eq(notes.ownerId, hostile));
  }
  assertEquals(
    scope(rsql`(ownerId==null;team>=${3})`),
    and(isNull(notes.ownerId), gte(notes.team, 3)),
  );
});

Deno.test("undefined, null, NaN, and what a column could not hold, deny", () => {
  for (const value of [undefined, null, NaN, "abc", {}, ["a"], Infinity, 1.5, true]) {
    assertEquals(scope(rsql`team==${value}`), none());
    assertEquals(scope(rsql`team!=${value}`), none());
    assertEquals(scope(rsql`team==${value},ownerId==${"me"}`), eq(notes.ownerId, "me"));
    assertEquals(scope(rsql`team==${value};ownerId==${"me"}`), none());
  }
  for (const value of ["a\0", "\ud800", 5, ["a"]]) {
    assertEquals(scope(rsql`ownerId==${value}`), none());
    assertEquals(scope(rsql`ownerId=contains=${value}`), none());
  }
  assertEquals(scope(rsql`ownerId%=${"a\\"}`), none());
  assertEquals(scope(rsql`ownerId=in=(null,${"a"})`), none());
});

Deno.test("a plain text with undefined or null in the place of a user's value denies", () => {
  const user: { dept?: string; org: null } = { org: null };
  const plain = [`${user.dept}`, `${user.org}`];
  for (const missing of plain.flatMap((word) => [word, `"${word}"`, `'${word}'`])) {
    for (const operator of ["==", "!=", "=ieq=", "=contains="]) {
      assertEquals(scope(`ownerId${operator}${missing}`), none());
      assertEquals(scope(`ownerId${operator}${missing},team==3`), eq(notes.team, 3));
      assertEquals(scope(`ownerId${operator}${missing};team==3`), none());
    }
  }
  assertEquals(scope(`ownerId=in=(a,${user.dept})`), none());
  assertEquals(scope(`ownerId=out=(a,${user.dept})`), none());
  assertEquals(scope("ownerId=isnull=true"), isNull(notes.ownerId));
});

Deno.test("an array of rsql`` is a list", () => {
  const list = scope("team=in=(1,2)");
  assertEquals(scope(rsql`team=in=${[1, 2]}`), list);
  assertEquals(scope(rsql`team=in=(${[1, 2]})`), list);
  assertEquals(scope(rsql`team=in=(${1},2)`), list);
  assertEquals(scope(rsql`team=between=${[1, 2]}`), scope("team=between=(1,2)"));
  assertEquals(scope(rsql`team=in=${["1", "2"]}`), list);
  for (const values of [[], [1, undefined], [1, null]]) {
    assertEquals(scope(rsql`team=in=${values}`), none());
    assertEquals(scope(rsql`team=out=${values}`), none());
  }
  assertEquals(scope(rsql`ownerId%=${"a%"}`), like(notes.ownerId, "a%"));
});

Deno.test("a scope that does not parse throws a plain Error, not a Problem", () => {
  const broken = [
    "ownerId=",
    "nope==1",
    "team%=1",
    rsql`ownerId=="${"x"}"`,
    rsql`ownerId==x${"x"}`,
    rsql`ownerId==${"x"}${"y"}`,
    rsql`${"ownerId"}==1`,
    rsql`team%=${"x"}`,
    rsql`(${"ownerId==1"})`,
    eq(table("others", { id: integer().primaryKey() }).id, 1),
  ];
  for (const result of broken) {
    const error = assertThrows(() => scope(result), Error);
    assertStringIncludes(error.message, "Cannot");
    assertEquals(error.name, "Error");
  }
});

Deno.test("a value of rsql`` that touches other text was another value, in silence", () => {
  const places: readonly (readonly [FilterText, string])[] = [
    [rsql`team==${5}1,id==${6}`, 'value 1 stands in part of a word: "${…}1"'],
    [rsql`team==1${5}`, "1${…}"],
    [rsql`team==-${5}`, "-${…}"],
    [rsql`id==1,team==${5}.5`, "${…}.5"],
    [rsql`team==${1};team==${5}0`, "value 2"],
    [rsql`team==${5}${6}`, "${…}${…}"],
    [rsql`team=in=(${5}1,2)`, "${…}1"],
    [rsql`ownerId=="a ${5} b"`, 'value 1 stands inside quotes: "a ${…} b"'],
    [rsql`"${"ownerId"}"==1`, "value 1 stands where the filter has a name"],
    [rsql`id==${1};"${"ownerId"}"=isnull=true`, "value 2 stands where the filter has a name"],
    [rsql`doc.blocked."${"ada"}"=isnull=true`, '.blocked.\\"${…}'],
    [rsql`doc."${"ada"}"==null`, 'doc.\\"${…}\\"'],
    [rsql`doc."${"ada"}"==1`, 'doc.\\"${…}\\"'],
    [rsql`doc."${"ada"}"==${1}`, "value 1 stands"],
    [rsql`doc."x${"ada"}"==null`, 'doc.\\"x${…}\\"'],
    [rsql`doc.a."${"ada"}"=isempty=true`, 'doc.a.\\"${…}\\"'],
    [rsql`"${"doc"}".a==1,id==1`, "value 1 stands"],
    [rsql`${"ownerId"}==5`, 'expected a field, got "${…}==5"'],
    [rsql`ownerId ${"=="} 5`, 'expected an operator, got "${…} 5"'],
    [rsql`ownerId=${"in"}=5`, 'got "=${…}=5"'],
    [rsql`ownerId=in=${"("}1,2)`, 'expected a field, got "2)"'],
    [rsql`doc.${"a"}==1`, 'got "${…}==1"'],
  ];
  for (const [template, place] of places) {
    assertStringIncludes(assertThrows(() => scope(template), Error).message, place);
  }
});

Deno.test("a number beyond 2^53 throws: it would match another row, or none", () => {
  const wide = table("wide", {
    id: integer().primaryKey(),
    price: decimal({ precision: 30, scale: 2 }),
    weight: real(),
    doc: json<number[]>(),
  });
  const unsafe = 2 ** 53;
  const advice = `Give the value ${unsafe} as a `;
  for (const build of [eq, ne, gt, gte, lt, lte]) {
    assertThrows(() => build(wide.id, unsafe), TypeError, advice);
    assertThrows(() => build(wide.id, -unsafe), TypeError, "-9007199254740992");
  }
  assertThrows(() => inList(wide.id, [1, unsafe]), TypeError, advice);
  assertThrows(() => eq(wide.price, unsafe as never), TypeError, advice);
  assertThrows(() => has(wide.doc, unsafe), TypeError, advice);
  assertThrows(() => hasAll(wide.doc, [1, unsafe]), TypeError, advice);
  assertThrows(() => scope(rsql`team==${unsafe}`), TypeError, advice);
  assertThrows(() => scope(rsql`team=in=${[unsafe]}`), TypeError, advice);
  assertThrows(() => scope(rsql`team=between=(1,${unsafe})`), TypeError, advice);
  assertEquals(eq(wide.id, 2n ** 53n as never), eq(wide.id, "9007199254740992" as never));
  assertEquals(eq(wide.weight, unsafe).kind, "compare");
  assertEquals(eq(wide.id, NaN), none());
  assertEquals(eq(wide.id, 1.5), none());
});

Deno.test("a scope that returns no filter throws an Error that names its table", () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [true, "true"],
    [undefined, "undefined"],
    [null, "null"],
    [1, "1"],
    [() => all(), "a function"],
    [{ ownerId: "ada" }, "an object"],
    [[eq(notes.id, 1)], "a list"],
    [{ kind: "every" }, "an object"],
    [and(eq(notes.id, 1), true as unknown as Filter), "true"],
    [or(eq(notes.id, 1), "id==1" as unknown as Filter), "a string"],
  ];
  for (const [answer, told] of cases) {
    const error = assertThrows(() => scope(answer as Filter), Error);
    assertEquals([error.name, error.message], [
      "Error",
      `Cannot use a scope of "notes": it answered ${told}, not a filter: ${
        told === "a function" ? "call it with the user" : "use a rule such as all()"
      }`,
    ]);
  }
});

Deno.test("an empty scope text denies", () => {
  assertEquals(scope(""), none());
  assertEquals(scope(rsql` `), none());
});

function scope(result: Parameters<typeof resolveScopeFilter>[0]): Filter {
  return resolveScopeFilter(result, {
    table: tableInfoOf(notes),
    operators: createOperatorRegistry({}),
    filters: createCachingFilterParser(),
    relationsOf: () => new Map(),
  });
}

function valuesOf(text: string): readonly unknown[] | null {
  const filter = filterOf(text, things);
  return filter.kind === "compare" ? filter.values : null;
}

function faultOf(text: string): unknown {
  return problemOf(() => filterOf(text, things)).details?.position;
}
