import { assertEquals } from "@std/assert";
import { root, sourceFiles } from "../repository/module_graph.ts";

Deno.test("no operation begins a transaction past inTransaction, which stores answers in it", () => {
  const transacting = sourceFiles("src/resource").filter((file) =>
    /\btransact\(|\.transaction\(/.test(Deno.readTextFileSync(root + file))
  );
  assertEquals(transacting, ["src/resource/write/in_transaction.ts"]);
});
