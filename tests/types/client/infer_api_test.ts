import { assertEquals, assertMatch } from "@std/assert";
import { errorsIn } from "../checked_programs.ts";
import { refusedByInferApi } from "./infer_api_program.ts";

Deno.test("InferApi takes the types of a client from the configuration, and promises no others", async () => {
  const errors = await errorsIn("inferApi");
  for (const [index, [code, expected]] of refusedByInferApi.entries()) {
    const found = errors.filter(({ file }) => file === `program${index}.ts`);
    assertMatch(found.map(({ message }) => message).join("\n"), expected, code);
  }
  // Those of the service and of the program that is right.
  assertEquals(errors.filter(({ file }) => !file.startsWith("program")), []);
});
