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
 * default options they are by `mistakes_test.ts`; with the types of a browser and with the examples
 * by `outside_test.ts`; under the strictest by the gate, whose options are those of this project.
 */
const compilerOptions = {
  ...strictest,
  lib: ["esnext", "dom", "dom.iterable", "dom.asynciterable", "deno.ns"],
};

Deno.test("a program that imports the package checks under the types of a browser alone with Deno's", async () => {
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
