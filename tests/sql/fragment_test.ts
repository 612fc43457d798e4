import { assertEquals, assertNotEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import {
  type Fragment,
  identifier,
  join,
  rawSql,
  sql,
  type SqlValue,
  toStatement,
} from "../../src/sql/fragment.ts";

Deno.test("sql`` nests fragments and keeps values apart", () => {
  const inner = sql`a = ${1}`;
  assertEquals(toStatement(sql`select ${inner} and b = ${"x"}`, (n) => `$${n}`), {
    text: "select a = $1 and b = $2",
    values: [1, "x"],
  });
});

const parameter = (position: number) => `$${position}`;

/** A tree of fragments, and the text that its parts have one after the other. */
interface Expected {
  readonly fragment: Fragment;
  readonly text: string;
  readonly values: readonly SqlValue[];
}

const value = fc.oneof(fc.integer(), fc.string(), fc.constant(null)).map((one): Expected => ({
  fragment: sql`${one}`,
  text: "?",
  values: [one],
}));
const name = fc.constantFrom("a", 'b"c', "d e").map((one): Expected => ({
  fragment: identifier(one),
  text: `"${one.replace('"', '""')}"`,
  values: [],
}));
const { tree } = fc.letrec<{ tree: Expected }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    value,
    name,
    fc.tuple(tie("tree"), fc.integer()).map(([{ fragment, text, values }, bound]): Expected => ({
      fragment: sql`(${fragment} > ${bound})`,
      text: `(${text} > ?)`,
      values: [...values, bound],
    })),
    fc.array(tie("tree"), { maxLength: 3 }).map((all): Expected => ({
      fragment: join(all.map(({ fragment }) => fragment), " AND "),
      text: all.map(({ text }) => text).join(" AND "),
      values: all.flatMap(({ values }) => values),
    })),
    tie("tree").map(({ fragment, text, values }): Expected => ({
      // A list of texts is no template: what is made of it is not kept.
      fragment: sql(["NOT ", ""], fragment),
      text: `NOT ${text}`,
      values,
    })),
  ),
}));

Deno.test("kept texts are those of the same parts", () => {
  fc.assert(
    fc.property(tree, ({ fragment, text, values }) => {
      assertEquals(toStatement(fragment, () => "?"), { text, values });
      let position = 0;
      const numbered = text.replaceAll("?", () => parameter(++position));
      assertEquals(toStatement(fragment, parameter).text, numbered);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("fragments of one shape share their texts, whatever their values are", () => {
  const select = (id: number, limit: number) =>
    sql`SELECT ${identifier("a")} WHERE ${join([sql`id = ${id}`, sql`1 = ${2}`], " AND ")}${
      rawSql(` LIMIT ${limit}`)
    }`;
  assertStrictEquals(select(1, 20).texts, select(2, 20).texts);
  assertNotEquals(select(1, 20).texts, select(1, 21).texts);
});

Deno.test("the shapes of very many fragments are forgotten, and compile as before", () => {
  const { texts } = sql`SELECT ${1}`;
  const long = Array.from({ length: 1_000 }, (_, index) => sql`${index}`);
  for (let count = 0; count < 300; count++) join(long, ` OR ${count} OR `);
  const again = sql`SELECT ${1}`;
  assertEquals(again.texts, texts);
  assertEquals(toStatement(again, parameter), { text: "SELECT $1", values: [1] });
});
