import { assertEquals } from "@std/assert";
import { root, sourceFiles } from "./module_graph.ts";
import { sourceParts } from "./source_parts.ts";

/** Names that several files export, each with the reason. */
const shared: Readonly<Record<string, string>> = {
  useLive: "each framework has its own, under its own subpath",
  useLiveAggregate: "each framework has its own, under its own subpath",
  useLiveList: "each framework has its own, under its own subpath",
};

Deno.test("no two files of src export the same name", () => {
  const owners = new Map<string, string[]>();
  for (const file of sourceFiles("src")) {
    const { exports } = sourceParts(file, Deno.readTextFileSync(root + file));
    for (const name of new Set(exports)) owners.set(name, [...owners.get(name) ?? [], file]);
  }
  assertEquals(owners.has("Filter"), true, "exports are found");
  const several = [...owners].filter(([, files]) => files.length > 1);
  assertEquals(several.filter(([name]) => !Object.hasOwn(shared, name)), []);
  assertEquals(Object.keys(shared).filter((name) => !several.some(([own]) => own === name)), []);
});

Deno.test("every form of export that src uses is found", () => {
  const source = `
    export const a = 1, b = 2;
    export function c() {}
    export class D {}
    export interface E {}
    export type F = E;
    export { a as g };
    export type { H } from "./h.ts";
  `;
  assertEquals(sourceParts("x.ts", source).exports, ["a", "b", "c", "D", "E", "F", "g"]);
});
