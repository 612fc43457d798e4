import { assert, assertEquals } from "@std/assert";
import { createMutations } from "./mutations.ts";
import { mutatedModule } from "./schemata.ts";

const program = `
export function sum(list: readonly number[], isOpen: boolean): number {
  const seen: number[] = [];
  for (const one of list) {
    if (isOpen && one > 2 || one === 0) seen.push(one);
    else seen.push(7 - one);
  }
  return seen.reduce((all, one) => all + one, 5);
}
`;

/** Runs the program with one mutant, or with none. */
async function sumsWith(active: number): Promise<unknown> {
  const { text } = mutatedModule(program, "sum.ts", 0);
  Object.assign(globalThis, { __mutation: createMutations(active, () => {}) });
  const { sum } = await import(`data:application/typescript,${encodeURIComponent(text)}`);
  return [sum([0, 1, 2, 3, 4], true), sum([0, 4], false)];
}

Deno.test("a mutated module is the original without a mutant, and each mutant changes it", async () => {
  const original = await sumsWith(-1);
  assertEquals(original, [23, 8]);
  const { mutants } = mutatedModule(program, "sum.ts", 0);
  const operators = mutants.map(({ operator }) => operator);
  assertEquals(operators.toSorted(), [
    ...["&& to ||", "+ to -", "- to +", "=== to !==", "> to >=", "plus 1", "plus 1", "plus 1"],
    ...["plus 1", "removed", "removed", "sum returns early", "|| to &&"],
  ]);
  for (const mutant of mutants) {
    const changed = await sumsWith(mutant.id);
    assert(JSON.stringify(changed) !== JSON.stringify(original), JSON.stringify(mutant));
  }
});
