import { assertEquals } from "@std/assert";
import { root, sourceFiles } from "../repository/module_graph.ts";

Deno.test("operations begin transactions through inTransaction alone, which stores replies in them", () => {
  const transacting = sourceFiles("src/resource").filter((file) =>
    /\btransact\(|\.transaction\(/.test(Deno.readTextFileSync(root + file))
  );
  assertEquals(transacting, ["src/resource/write/transaction/in_transaction.ts"]);
});
