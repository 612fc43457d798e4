import { assert, assertEquals } from "@std/assert";
import { kinds } from "../../src/schema/kind_of.ts";
import { certifiedOperators } from "../../src/sql/certified_operators.ts";
import type { CellClass, Engine as EngineFamily } from "../../src/sql/dialect.ts";
import { everyEngine } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";
import { root } from "../repository/module_graph.ts";
import { type Certification, certify } from "./certification.ts";

// `CERTIFY=write deno task test --no-check tests/invariants/certify_test.ts` writes the table again.
const isWriting = Deno.env.get("CERTIFY") === "write";

const file = `${root}src/sql/certified_operators.ts`;
const results: Certification[] = [];

for (const engine of everyEngine) {
  testUnless(
    engine.ignore ?? null,
    `${engine.name} gives the answers of memory in every certified cell`,
    async () => {
      const result = await certify(engine);
      results.push(result);
      console.log(`${result.checks.toLocaleString("en")} comparisons by ${engine.name}`);
      assert(result.checks > 500_000, "the corpora are large");
      if (isWriting) return;
      const committed = Object.entries(certifiedOperators[result.family]);
      const wrong = committed.flatMap(([cell, symbols]) =>
        symbols.split(" ").flatMap((symbol) => result.disagreed.get(`${cell} ${symbol}`) ?? [])
      );
      assertEquals(wrong, []);
    },
  );
}

Deno.test("src/sql/certified_operators.ts holds all that was proved, and nothing else", async () => {
  const families = new Set(results.map(({ family }) => family));
  const proved = Object.fromEntries([...families].map((family) => [family, provedBy(family)]));
  if (isWriting) {
    for (const name of Object.keys(certifiedOperators)) {
      const missing = Object.keys(kinds).filter((kind) => proved[name]?.[kind] === undefined);
      assertEquals(missing, [], `${name} compares a column of each kind`);
    }
    const lists = Object.entries(proved);
    const isCommon = (cell: string) =>
      lists.every(([, list]) => list[cell] !== undefined && list[cell] === lists[0]?.[1][cell]);
    const json = (list: Record<string, string>, keep: (cell: string) => boolean) =>
      JSON.stringify(Object.fromEntries(Object.entries(list).filter(([cell]) => keep(cell))));
    const ofEngines = lists.map(([name, list]) =>
      `${name}: { ...common, ...${json(list, (cell) => !isCommon(cell))} }`
    );
    const text = (await Deno.readTextFile(file))
      .replace(/(?<=const common = )[^]*?(?=;\n)/, json(lists[0]?.[1] ?? {}, isCommon))
      .replace(/(?<=CertifiedOperators>> = )[^]*$/, `{ ${ofEngines.join(", ")} };\n`);
    await Deno.writeTextFile(file, text);
    return;
  }
  assertEquals(proved, certifiedOperators);
});

/** The operators on which memory agrees with every engine of the family that can run here. */
function provedBy(family: EngineFamily): Record<string, string> {
  const runs = results.filter((run) => run.family === family);
  const [first, ...others] = runs;
  assert(first !== undefined);
  return Object.fromEntries(
    [...first.agreed].map(([cell, symbols]) => [
      cell,
      agreedByAll(cell, symbols, others).join(" "),
    ]),
  );
}

function agreedByAll(
  cell: CellClass,
  symbols: readonly string[],
  others: readonly Certification[],
): readonly string[] {
  return symbols.filter((symbol) => others.every((run) => run.agreed.get(cell)?.includes(symbol)));
}
