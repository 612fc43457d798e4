import { assert, assertEquals, assertMatch } from "@std/assert";
import { errorsIn } from "../checked_programs.ts";
import { accepted, refused } from "./programs.ts";

Deno.test("the compiler accepts programs of a client over written types, and says what is wrong in others", async () => {
  assert(accepted.length > 15);
  assert(refused.length > 30);
  const errors = await errorsIn("writtenTypes");
  for (const [index, [program, expected]] of refused.entries()) {
    const found = errors.filter(({ file }) => file === `refused${index}.ts`);
    assert(found.length > 0, `accepted: ${program}`);
    assertMatch(found.map(({ message }) => message).join("\n"), expected, program);
  }
  assertEquals(errors.filter(({ file }) => !file.startsWith("refused")), []);
});
