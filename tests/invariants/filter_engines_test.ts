import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { comparison, type Filter } from "../../src/filter/filter.ts";
import { hasDanglingEscape } from "../../src/filter/operators/like_pattern.ts";
import {
  builtInOperators,
  createOperatorRegistry,
} from "../../src/filter/operators/operator_registry.ts";
import type { Operator } from "../../src/filter/operators/operator.ts";
import { parseFilter } from "../../src/filter/syntax/parse_filter.ts";
import { printFilter } from "../../src/filter/syntax/print_filter.ts";
import { printSyntax } from "../filter/print_syntax.ts";
import { resolveFilter } from "../../src/filter/resolve_filter.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import type { Row } from "../../src/schema/table_info.ts";
import { engines, everyEngine } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";
import {
  edgeValues,
  type FilterWorld,
  nastyTexts,
  openFilterWorld,
  things,
} from "./filter_worlds.ts";
import { randomFilters } from "./random_filters.ts";
import { repeats } from "../support/repeats.ts";

const info = tableInfoOf(things);
const tree = randomFilters(info.columns);
const context = { table: info, operators: createOperatorRegistry({}), mayFilter: () => true };

// A failure is found again by `SEED=… deno task test tests/invariants`; `RUNS=100000` takes longer.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);
const runs = Number(Deno.env.get("RUNS") ?? repeats(800));

for (const engine of everyEngine) {
  testUnless(
    engine.ignore ?? null,
    `${engine.name} and memory agree on every operator and nasty text`,
    async () => {
      const name = info.byName.get("name")!;
      const rows = nastyTexts.map((text, id) => ({ id, name: text }));
      await using world = await openFilterWorld(engine, [{ id: -1 }, ...rows]);
      for (const operator of builtInOperators) {
        if (!operator.accepts(name)) continue;
        for (const values of argumentsOf(operator)) {
          await compareAnswers(comparison(operator, name, values), world);
        }
      }
    },
  );
}

for (const engine of engines) {
  testUnless(
    engine.ignore ?? null,
    `${engine.name} and memory agree on random filters, seed ${seed}`,
    async () => {
      const rows = fc.sample(row, { seed, numRuns: 150 }).map((values, id) => ({ ...values, id }));
      await using world = await openFilterWorld(engine, rows);
      const property = fc.asyncProperty(tree, async (syntax) => {
        await compareAnswers(resolveFilter(parseFilter(printSyntax(syntax))!, context), world);
      });
      await fc.assert(property, { seed, numRuns: runs });
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
