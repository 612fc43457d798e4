/**
 * Sets the global variable that mutated modules use. `MUTANT` in the environment is the number of
 * the active mutant. `MUTANTS_REACHED` is a folder: at its end, the process writes there which
 * mutants ran.
 */
import { createMutations } from "./mutations.ts";

const folder = Deno.env.get("MUTANTS_REACHED");
const reached = new Set<number>();
const note = folder === undefined ? () => {} : (id: number) => void reached.add(id);
const mutations = createMutations(Number(Deno.env.get("MUTANT") ?? -1), note);

Object.assign(globalThis, { __mutation: mutations });

if (folder !== undefined) {
  globalThis.addEventListener("unload", () => {
    Deno.writeTextFileSync(`${folder}/${Deno.pid}.json`, JSON.stringify([...reached]));
  });
}
