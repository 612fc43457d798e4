import { assert, assertEquals } from "@std/assert";
import { errorsIn } from "./checked_programs.ts";
import { rightsMistakes } from "./rights_mistakes.ts";

Deno.test("the compiler finds each of 32 mistakes in rights", async () => {
  assert(rightsMistakes.length >= 32);
  const errors = await errorsIn("rightsMistakes");
  const found = new Set(errors.map(({ file }) => file));
  const missed = rightsMistakes.filter((_mistake, index) => !found.has(`mistake${index}.ts`));
  assertEquals(missed.map(([name]) => name), []);
  assertEquals(errors.filter(({ file }) => !file.startsWith("mistake")), []);
});

Deno.test("rights without the mistakes, and the guide of rights, are free of errors", async () => {
  assertEquals(await errorsIn("rightsCorrections"), []);
});
