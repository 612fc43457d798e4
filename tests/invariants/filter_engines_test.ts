import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Filter } from "../../src/filter/filter.ts";
import { hasDanglingEscape } from "../../src/filter/like.ts";
import { comparison } from "../../src/filter/comparison.ts";
import { builtInOperators, operatorsWith } from "../../src/filter/operators.ts";
import type { Operator } from "../../src/filter/operator.ts";
import { parse } from "../../src/filter/parser.ts";
import { printFilter, printSyntax } from "../../src/filter/print.ts";
import { resolveFilter } from "../../src/filter/resolve.ts";
import type { ComparisonSyntax, FilterSyntax, Literal } from "../../src/filter/syntax.ts";
import { readTableInfo } from "../../src/schema/define.ts";
import type { ColumnInfo, Row } from "../../src/schema/table_info.ts";
import { engines } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";
import {
  edgeValues,
  type FilterWorld,
  nastyTexts,
  openFilterWorld,
  things,
} from "./filter_worlds.ts";

const info = readTableInfo(things);
const context = { table: info, operators: operatorsWith({}), mayFilter: () => true };

// A failure is found again by `SEED=… deno task test tests/invariants`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);

for (const engine of engines) {
  const reason = engine.ignore ?? null;

  testUnless(
    reason,
    `${engine.name} and memory agree on every operator and nasty text`,
    async () => {
      const name = info.byName.get("name")!;
      const rows = nastyTexts.map((text, id) => ({ id, name: text }));
      await using world = await openFilterWorld(engine, [{ id: -1 }, ...rows]);
      for (const operator of builtInOperators) {
        for (const values of argumentsOf(operator)) {
          await compareAnswers(comparison(operator, name, values), world);
        }
      }
    },
  );

  testUnless(
    reason,
    `${engine.name} and memory agree on random filters, seed ${seed}`,
    async () => {
      const rows = fc.sample(row, { seed, numRuns: 150 }).map((values, id) => ({ ...values, id }));
      await using world = await openFilterWorld(engine, rows);
      const property = fc.asyncProperty(tree, async (syntax) => {
        await compareAnswers(resolveFilter(parse(printSyntax(syntax))!, context), world);
      });
      await fc.assert(property, { seed, numRuns: 3_000 });
    },
  );
}

async function compareAnswers(filter: Filter, world: FilterWorld): Promise<void> {
  assertEquals(await world.byDatabase(filter), world.inMemory(filter), printFilter(filter));
}

function argumentsOf({ takes }: Operator): readonly (readonly unknown[])[] {
  switch (takes) {
    case "flag":
      return [[true], [false]];
    case "count":
      return [0, 1, 2, 3, 9, 0x7fffffff].map((count) => [count]);
    case "pair":
      return nastyTexts.map((text, index) => [text, nastyTexts[index * 7 % nastyTexts.length]]);
    case "pattern": {
      const patterns = nastyTexts.flatMap((text) => [
        ...[text, `%${text}`, `${text}%`, `%${text}%`],
        ...[`_${text}%`, `%${text}_%`],
      ]);
      return patterns.filter((pattern) => !hasDanglingEscape(pattern)).map((pattern) => [pattern]);
    }
    default:
      return nastyTexts.map((text) => [text]);
  }
}

const row: fc.Arbitrary<Row> = fc.record(
  Object.fromEntries(
    info.columns.map((column) => [
      column.name,
      fc.option(fc.constantFrom(...edgeValues[column.kind]), { freq: 5 }),
    ]),
  ),
);

/** What stands between values: pieces of nasty texts, with wildcards, in another case. */
const textArgument = fc.oneof(
  fc.constantFrom(...nastyTexts),
  fc.array(fc.constantFrom(..."aA%_\\éÉσΣς👍iİ*[?kK", "\u212a", "e\u0301"), { maxLength: 5 })
    .map((parts) => parts.join("")),
  // A control character can be stored, but no filter's text may hold it.
  // deno-lint-ignore no-control-regex -- that is what is looked for
).filter((text) => !/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text));

const comparisonSyntax: fc.Arbitrary<ComparisonSyntax> = fc.constantFrom(
  ...info.columns.flatMap((column) =>
    builtInOperators.filter((operator) => operator.accepts(column.kind))
      .map((operator) => [column, operator] as const)
  ),
).chain(([column, operator]) =>
  fc.constantFrom(...operator.symbols).chain((symbol) =>
    literals(column, operator).map((values) => ({
      kind: "compare" as const,
      field: column.name,
      fieldAt: 0,
      operator: symbol,
      operatorAt: 0,
      list: operator.takes === "list" || operator.takes === "pair",
      valuesAt: 0,
      values,
    }))
  )
);

function literals(column: ColumnInfo, { takes }: Operator): fc.Arbitrary<Literal[]> {
  const typed = column.kind === "text"
    ? textArgument.map(quoted)
    : fc.constantFrom(...edgeValues[column.kind]).map((value) =>
      quoted(Object.is(value, -0) ? "-0" : String(value))
    );
  switch (takes) {
    case "value":
      return fc.tuple(typed);
    case "list":
    case "texts":
      return fc.array(typed, { minLength: 1, maxLength: 4 });
    case "pair":
      return fc.tuple(typed, typed);
    case "text":
      return fc.tuple(textArgument.map(quoted));
    case "pattern":
      return fc.tuple(textArgument.filter((text) => !hasDanglingEscape(text)).map(quoted));
    case "flag":
      return fc.tuple(fc.constantFrom("true", "false").map(bare));
    case "count":
      return fc.tuple(fc.nat({ max: 4 }).map((count) => bare(String(count))));
  }
}

function quoted(text: string): Literal {
  return { text, quoted: true, at: 0 };
}

function bare(text: string): Literal {
  return { text, quoted: false, at: 0 };
}

const { tree } = fc.letrec<{ tree: FilterSyntax }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    comparisonSyntax,
    fc.record({
      kind: fc.constantFrom("and" as const, "or" as const),
      terms: fc.array(tie("tree"), { minLength: 2, maxLength: 3 }),
    }),
  ),
}));
