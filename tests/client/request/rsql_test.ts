import { termsOfSyntax } from "../../../src/filter/syntax/filter_syntax.ts";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import fc from "fast-check";
import { type FilterExpression, rsql, ServiceError } from "../../../exports/client.ts";
import { parseFilter } from "../../../src/filter/syntax/parse_filter.ts";
import { testOnDialects } from "../../support/http.ts";
import { withPosts } from "./posts_service.ts";

Deno.test("rsql writes every kind of value", () => {
  const cases: readonly (readonly [FilterExpression, string])[] = [
    [rsql`a==${"x"}`, 'a=="x"'],
    [rsql`a==${'"\\'}`, 'a=="\\"\\\\"'],
    [rsql`a>${-1.5}`, "a>-1.5"],
    [rsql`a==${12345678901234567890n}`, "a==12345678901234567890"],
    [rsql`a==${true};b==${null}`, "a==true;b==null"],
    [rsql`a==${"null"}`, 'a=="null"'],
    [rsql`a>${new Date(0)}`, 'a>"1970-01-01T00:00:00.000Z"'],
    [rsql`a=in=(${["x", 1]});b=out=[ ${[2]} ]`, 'a=in=("x",1);b=out=[ 2 ]'],
    [rsql`a=in=${["x", 1]}`, 'a=in=("x",1)'],
    [rsql`a==1;${rsql`b==${2},c==3`}`, "a==1;(b==2,c==3)"],
    [rsql`a=="it's";b=='"'`, `a=="it's";b=='"'`],
  ];
  for (const [expression, expected] of cases) {
    assertEquals([expression.filter, String(expression)], [expected, expected]);
  }
});

/** Any text that a filter may hold: control characters and half a surrogate pair it may not. */
const texts = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 30 }),
  fc.string({ unit: fc.constantFrom(...`"'\\;,()[]=!<>~&| ab\t\n%_*null`), maxLength: 12 }),
  // deno-lint-ignore no-control-regex -- these are the characters
).filter((text) => !/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text));

Deno.test("whatever text stands in a filter, the service's parser reads that text", () => {
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      const tree = parseFilter(String(rsql`a==${one};${rsql`b=in=${[other, one]},c!=${other}`}`));
      const values = (syntax: typeof tree): unknown[] =>
        syntax === null
          ? []
          : syntax.kind === "compare"
          ? syntax.values.map(({ text, quoted }) => [syntax.field, text, quoted])
          : [syntax.kind, ...termsOfSyntax(syntax).map(values)];
      assertEquals(values(tree), [
        "and",
        [["a", one, true]],
        ["or", [["b", other, true], ["b", one, true]], [["c", other, true]]],
      ]);
    }),
    { numRuns: 3000 },
  );
});

testOnDialects(
  "a filter for a text finds exactly the row with that text",
  (engine) =>
    withPosts(engine, async (api) => {
      const titles = [
        ...new Set(fc.sample(texts, { numRuns: 300, seed: 20 }).map((text) => text.normalize())),
        ...["null", "true", "*", "%", "a;b==c", 'x" or "1"=="1', "'", "\\", "a+b&c#d"],
      ].filter((title, index, all) => all.indexOf(title) === index);
      await api.posts.import(titles.map((title, id) => ({ id, title })));
      for (const [id, title] of titles.entries()) {
        const { items } = await api.posts.list({ filter: rsql`title==${title}`, select: ["id"] });
        assertEquals(items, [{ id }], JSON.stringify(title));
      }
      const some = titles.slice(0, 50);
      assertEquals(await api.posts.count({ filter: rsql`title=in=${some}` }), some.length);
      assertEquals(
        await api.posts.count({ filter: rsql`title!=${"*"};title=out=${some}` }),
        titles.length - some.length - (some.includes("*") ? 0 : 1),
      );
    }),
);

testOnDialects(
  "numbers, booleans, dates and nulls find the rows that have them",
  (engine) =>
    withPosts(engine, async (api) => {
      const postedAt = new Date(1_700_000_000_123);
      await api.posts.createBatch([
        { id: 1, title: "a", views: -3, price: "2.50", isOpen: true },
        { id: 2, title: "b", postedAt: postedAt.toISOString() },
      ]);
      const idsOf = async (filter: FilterExpression) =>
        (await api.posts.list({ filter })).items.map(({ id }) => id);
      assertEquals(await idsOf(rsql`views==${-3}`), [1]);
      assertEquals(await idsOf(rsql`price==${2.5};isOpen==${true}`), [1]);
      assertEquals(await idsOf(rsql`isOpen==${null}`), [2]);
      assertEquals(await idsOf(rsql`isOpen=isnull=${false}`), [1]);
      assertEquals(await idsOf(rsql`postedAt==${postedAt}`), [2]);
      assertEquals(await idsOf(rsql`postedAt=between=${[postedAt, new Date(2e12)]}`), [2]);
      assertEquals(await idsOf(rsql`title=length=${1};(${rsql`id==${2},id==${9}`})`), [2]);
    }),
);

Deno.test("what is no value is refused", () => {
  for (const wrong of [undefined, {}, [undefined], [{}], () => 1, new Uint8Array(1)]) {
    // @ts-expect-error -- the types refuse it, too
    assertThrows(() => rsql`a==${wrong}`, TypeError, "must be a string");
  }
  assertThrows(() => rsql`a==${new Date(NaN)}`, RangeError);
});

Deno.test("a value that is a part of a word or of a quoted string is refused, with its place", () => {
  const refused: readonly (readonly [make: () => unknown, place: string])[] = [
    // Without this, a string could end the quotes and continue with a filter of its own.
    [() => rsql`a=="${"x"}"`, '"\0"'],
    [() => rsql`a=='x ${"y"}'`, "'x \0'"],
    [() => rsql`a=="\\"${"y"}"`, '"\\"\0"'],
    [() => rsql`a=="\\${"y"}"`, '"\\\0"'],
    [() => rsql`a=="${"y"}`, '"\0'],
    // Without this, the filter would be another one: `n==51,id==6`.
    [() => rsql`n==${5}1,id==${6}`, "\u00001,id==\0"],
    [() => rsql`n==1${5}`, "1\0"],
    [() => rsql`n==-${5}`, "-\0"],
    [() => rsql`n==${5}${6}`, "\0\0"],
    [() => rsql`n${"b"}==1`, "n\0==1"],
    [() => rsql`n==${true}x;a==1`, "\0x;a==1"],
    [() => rsql`n=in=(1,${5}0,2)`, "\u00000,2)"],
    [() => rsql`n=in=(1.${5},2)`, ".\0,2)"],
    [() => rsql`a==1;b${rsql`c==1`}`, "b\0"],
    [() => rsql`a==b"c"${5}`, "x\0"],
    [() => rsql`n=="a\\" ${5},\\"b"`, '"a\\" \0,\\x'],
    // One sign, and white space of Unicode, are a part of a word.
    [() => rsql`n==${5}&`, "\0&"],
    [() => rsql`n==|${5}`, "|\0"],
    [() => rsql`n==${5}\u00a0`, "\0\u00a0"],
    [() => rsql`n==\u3000${5}`, "\u3000\0"],
    // A value is no name of a field.
    [() => rsql`${"n"}==5`, "\0==5"],
    [() => rsql`${"n"} ==5`, "\0 ==5"],
    [() => rsql`n==1;${"n"}=in=(1)`, "\0=in=(1)"],
  ];
  for (const [make, place] of refused) {
    assertEquals(
      assertThrows(make, TypeError).message,
      `No filter has ${place.replaceAll("\0", "${…}")}`,
    );
  }
  const read: readonly (readonly [filter: FilterExpression, text: string])[] = [
    [rsql`a==${1}`, "a==1"],
    [rsql` a == ${1} ; b != ${2} `, " a == 1 ; b != 2 "],
    [rsql`(${rsql`a==${1}`},b>=${2});c<${3}`, "((a==1),b>=2);c<3"],
    [rsql`a=in=(${1},${2})&&b==${"x"}||c==${null}`, 'a=in=(1,2)&&b=="x"||c==null'],
    [rsql`a=="it's ;)";b=='"';c==${1}`, `a=="it's ;)";b=='"';c==1`],
    [rsql`a=in=[${1},${2}]&&b=out=( ${3} )`, "a=in=[1,2]&&b=out=( 3 )"],
    [rsql`a==${1} and b==${2}\tor c==${3}`, "a==1 and b==2\tor c==3"],
  ];
  for (const [filter, text] of read) assertEquals(filter.filter, text);
});

testOnDialects(
  "a filter that the language does not have is the service's 400",
  (engine) =>
    withPosts(engine, async (api) => {
      for (const filter of [rsql`id=in=${[]}`, rsql`title==${"\u0000"}`, "id=="]) {
        const error = await assertRejects(() => api.posts.list({ filter }), ServiceError);
        assertEquals(error.slug, "filter-parse-error");
        assertEquals(typeof error.problem?.details?.position, "number");
      }
      // It would be sent as another character.
      await assertRejects(() => api.posts.list({ filter: rsql`title==${"\ud800"}` }), URIError);
    }),
);
