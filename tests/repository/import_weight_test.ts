import { assertEquals } from "@std/assert";
import { moduleGraph, packageName } from "./module_graph.ts";

/** Parts with their own subpath, so that only programs that import it load them. */
const heavy: readonly string[] = [
  "better-sqlite3",
  "postgres",
  "@electric-sql/pglite",
  "stripe",
  "@opensearch-project/opensearch",
  "node:sqlite",
];

Deno.test("importing mod.ts loads no driver, no payment client, no search client", async () => {
  const graph = await moduleGraph();
  const loaded = new Set<string>();
  const waiting = ["mod.ts"];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const imports = graph.get(file);
    if (loaded.has(file) || imports === undefined) continue;
    loaded.add(file);
    waiting.push(...imports.files);
    for (const specifier of imports.packages) loaded.add(packageName(specifier) ?? specifier);
  }
  assertEquals(heavy.filter((name) => loaded.has(name)), []);
});
