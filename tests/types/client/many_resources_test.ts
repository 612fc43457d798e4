import { assertEquals } from "@std/assert";
import { errorsIn } from "../checked_programs.ts";

// How long it takes is measured by `deno task bench:types`.
Deno.test("a program over 200 resources of twelve fields checks", async () => {
  assertEquals(await errorsIn("manyResources"), []);
});
