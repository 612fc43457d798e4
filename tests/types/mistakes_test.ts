import { assert, assertEquals } from "@std/assert";
import { errorsIn } from "./checked_programs.ts";
import { mistakeProgram } from "./mistake_program.ts";
import { mistakes } from "./mistakes.ts";

Deno.test("for each of 40 mistakes the compiler's error names the option", async () => {
  assert(mistakes.length >= 40);
  const files = mistakeProgram("$1");
  const errors = await errorsIn("mistakes");
  mistakes.forEach(([option, code], index) => {
    const file = `mistake${index}.ts`;
    const found = errors.filter((error) => error.file === file);
    assert(found.length > 0, `no error for ${option} in:\n${code}`);
    // The line of the error, or the message without the lines of source that it shows.
    const [named] = found.map(({ line, message }) => {
      const place = files[file]?.split("\n")[line - 1] ?? "";
      return new RegExp(`\\b${option}\\b`).test(place) || message.includes(`'${option}'`);
    });
    assert(named, `${option} is not named by:\n${found.map(({ message }) => message).join("\n")}`);
  });
  assertEquals(errors.filter(({ file }) => !file.startsWith("mistake")), []);
});

Deno.test("the same programs without the mistakes are free of errors, as is the whole package", async () => {
  assertEquals(await errorsIn("corrections"), []);
});
