import { assertEquals } from "@std/assert";
import { checkProgram } from "./check_program.ts";

const strictest = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  useUnknownInCatchVariables: true,
  noImplicitReturns: true,
  noFallthroughCasesInSwitch: true,
};

/**
 * The options of a user's deno.json under which the files of the package are checked, too. Under the
 * default options they are by `mistakes_test.ts`, and with the examples by `outside_test.ts`; under
 * the strictest by the gate, whose options are those of this project.
 */
const options: readonly [string, Readonly<Record<string, unknown>>][] = [
  ["the types of a browser", { lib: ["deno.window", "dom"] }],
  ["the types of a browser alone with Deno's", {
    ...strictest,
    lib: ["esnext", "dom", "dom.iterable", "dom.asynciterable", "deno.ns"],
  }],
];

for (const [name, compilerOptions] of options) {
  Deno.test(`a program that imports the package checks under ${name}`, async () => {
    const program = `
      import { createApp, integer, openDatabase, resource, table } from "@svc/resource-api";
      const notes = table("notes", { id: integer().primaryKey() });
      const db = await openDatabase("sqlite::memory:");
      const resources = [resource(notes, { id: notes.id, auth: { public: true } })];
      await createApp({ db, resources, kv: ":memory:" });
    `;
    const cli = `import "@svc/resource-api/cli";`;
    assertEquals(await checkProgram({ "main.ts": program, "cli.ts": cli }, compilerOptions), []);
  });
}
