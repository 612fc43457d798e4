import { assert, assertEquals } from "@std/assert";
import { checkProgram } from "./check_program.ts";
import { mistakes } from "./mistakes.ts";

const shared = `
import { integer, openDatabase, table, text, timestamp } from "@svc/resource-api";
export const users = table("users", {
  id: integer().primaryKey(),
  name: text(),
  deletedAt: timestamp(),
});
export const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  owner: text().notNull(),
  status: text({ enum: ["draft", "done"] }).notNull().default("draft"),
  version: integer().notNull().default(1),
  authorId: integer().references(() => users.id),
  deletedAt: timestamp(),
});
export const db = await openDatabase("sqlite::memory:");
`;

const imports =
  'import { and, createApp, eq, inList, integer, like, openDatabase, procedure, resource, serve, table, text } from "@svc/resource-api"; ' +
  'import { z } from "zod"; import { db, notes, users } from "./shared.ts";\n';

/** A program of all snippets, each in its own file, with the mistakes or with the corrections. */
function program(text: "$1" | "$2"): Readonly<Record<string, string>> {
  const files = mistakes.map(([, code], index) => [
    `mistake${index}.ts`,
    imports + code.replaceAll(/«([^»]*)»«([^»]*)»/g, text) + "\n",
  ]);
  return { ...Object.fromEntries(files), "shared.ts": shared };
}

Deno.test("for each of 40 mistakes the compiler's error names the option", async () => {
  assert(mistakes.length >= 40);
  const files = program("$1");
  const errors = await checkProgram(files);
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
  const cli = `import "@svc/resource-api/cli";`;
  assertEquals(await checkProgram({ ...program("$2"), "cli.ts": cli }), []);
});
