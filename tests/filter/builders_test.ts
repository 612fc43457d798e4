import { assertEquals, assertThrows } from "@std/assert";
import {
  all,
  eq,
  gt,
  gte,
  inList,
  isNotNull,
  isNull,
  like,
  lt,
  lte,
  ne,
  none,
} from "../../src/filter/builders.ts";
import type { Filter } from "../../src/filter/filter.ts";
import { printFilter } from "../../src/filter/syntax/print_filter.ts";
import { boolean, bytes, integer, json, text, timestamp } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  status: text({ enum: ["draft", "done"], maxLength: 5 }).notNull(),
  title: text(),
  at: timestamp(),
  ok: boolean(),
  data: json(),
  file: bytes(),
});

Deno.test("each builder is the operator of the language", () => {
  const printed: readonly (readonly [Filter, string])[] = [
    [eq(notes.id, 1), "id==1"],
    [ne(notes.title, 'a"b'), 'title!="a\\"b"'],
    [gt(notes.id, 1), "id>1"],
    [gte(notes.id, 1), "id>=1"],
    [lt(notes.id, 1), "id<1"],
    [lte(notes.id, 1), "id<=1"],
    [inList(notes.id, [1, 2]), "id=in=(1,2)"],
    [isNull(notes.data), "data=isnull=true"],
    [isNotNull(notes.data), "data=isnull=false"],
    [like(notes.title, "a%"), 'title%="a%"'],
    [eq(notes.at, "2024-01-01T01:00:00+01:00"), 'at=="2024-01-01T00:00:00.000Z"'],
    [all(), ""],
    [none(), "none"],
  ];
  for (const [filter, expected] of printed) assertEquals(printFilter(filter), expected);
});

Deno.test("undefined, null, NaN and impossible values match nothing, whatever the operator", () => {
  const missing: { id?: number } = {};
  const denied = [
    eq(notes.id, missing.id),
    ne(notes.id, undefined),
    eq(notes.title, null),
    ne(notes.title, null),
    like(notes.title, null),
    inList(notes.title, null),
    eq(notes.id, NaN),
    ne(notes.id, Infinity),
    gt(notes.id, null),
    eq(notes.id, 1.5),
    eq(notes.title, "\0"),
    eq(notes.at, "2024-02-30T00:00:00Z"),
    inList(notes.id, []),
    inList(notes.id, undefined),
    inList(notes.id, [1, undefined]),
    inList(notes.id, [1, null]),
    like(notes.title, "a\\"),
    like(notes.title, undefined),
  ];
  for (const filter of denied) assertEquals(filter, none());
});

Deno.test("an operator that does not fit the kind throws a plain Error", () => {
  assertThrows(() => gt(notes.ok, true), Error, "> does not fit the kind boolean");
  assertThrows(() => eq(notes.data, 1), Error, "does not fit");
  assertThrows(() => gt(notes.file, "eA=="), Error, "does not fit");
  assertEquals(inList(notes.file, ["eA=="]).kind, "compare");
});

Deno.test("the compiler refuses values of another type", () => {
  // @ts-expect-error a number for a text
  eq(notes.title, 1);
  // @ts-expect-error a text for a number
  eq(notes.id, "1");
  // @ts-expect-error no member of the enum
  eq(notes.status, "gone");
  // @ts-expect-error a text for a boolean
  eq(notes.ok, "true");
  eq(notes.status, "done");
});

Deno.test("a builder of a column that does not exist fails with a sentence", () => {
  // As a program that is not checked passes a misspelt property.
  const missing = undefined as unknown as typeof notes.id;
  assertThrows(() => eq(missing, 1), Error, "Cannot use undefined as a column: it does not belong");
});
