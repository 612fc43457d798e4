import { assert, assertEquals } from "@std/assert";
import { errorsIn } from "../checked_programs.ts";
import { isRight, probeAt, probes } from "./probes.ts";

// `deno task type-probes` compiles the same file with other versions of TypeScript.
Deno.test("probes of the client's types are errors, or have exactly the expected type", async () => {
  assert(probes.length >= 80);
  const errors = await errorsIn("probes");
  for (const [index, probe] of probes.entries()) {
    const found = errors.filter(({ file, line }) =>
      file === "probes.ts" && probeAt(line) === index + 1
    );
    const message = found.map(({ message }) => message).join("\n");
    assert(isRight(probe, message), `${index + 1}: ${probe[0]}\n${message}`);
  }
  assertEquals(errors.filter(({ file, line }) => file !== "probes.ts" || probeAt(line) < 1), []);
});
