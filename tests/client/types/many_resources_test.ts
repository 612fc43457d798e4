import { assertEquals } from "@std/assert";
import { checkProgram } from "../../types/check_program.ts";
import { manyResourcesProgram } from "./many_resources.ts";

// How long it takes is measured by `deno task bench:types`.
Deno.test("a program over 200 resources of twelve fields checks", async () => {
  assertEquals(await checkProgram(manyResourcesProgram(200)), []);
});
