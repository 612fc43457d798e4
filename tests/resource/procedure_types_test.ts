import { assertEquals } from "@std/assert";
import { z } from "zod";
import * as v from "valibot";
import type { User } from "../../src/auth/authorize.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { procedure, type ProcedureContext } from "../../src/resource/model/procedure.ts";
import { text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";

const notes = table("notes", { id: text().primaryKey() });

interface Member extends User {
  readonly level: number;
}

// Checked by the compiler, within a resource, whose option must not weaken the inferred types.
Deno.test("the types of a procedure's handler come from its schemas", () => {
  const declare = () =>
    resource(notes, {
      id: notes.id,
      procedures: {
        inferred: procedure({
          input: z.object({ id: z.string().transform(Number) }),
          output: z.object({ total: z.number().transform(String) }),
          handler: ({ user }, input) => {
            const id: number = input.id;
            const name: string = user.id;
            // @ts-expect-error: the schema turned the text into a number
            const notText: string = input.id;
            return { total: id + name.length + String(notText).length };
          },
        }),
        defaulted: procedure({
          input: v.object({ word: v.optional(v.string(), "none") }),
          output: v.string(),
          handler: (_context, { word }) => word.toUpperCase(),
        }),
        misspelt: procedure({
          input: z.object({ word: z.string() }),
          output: z.string(),
          // @ts-expect-error: the schema has no such field
          handler: (_context, { wrod }) => String(wrod),
        }),
        wrongOutput: procedure({
          input: z.string(),
          output: z.number(),
          // @ts-expect-error: the output schema takes a number
          handler: (_context, word) => word,
        }),
        open: procedure({
          input: z.string(),
          output: z.string(),
          public: true,
          handler: ({ user }, word) => word + (user?.id ?? ""),
        }),
        forUsersOnly: procedure({
          input: z.string(),
          output: z.string(),
          public: true,
          // @ts-expect-error: the user of a public procedure may be null
          handler: ({ user }, word) => word + user.id,
        }),
        ownUser: procedure({
          input: z.string(),
          output: z.number(),
          handler: ({ user }: ProcedureContext<Member>, word) =>
            Promise.resolve(word.length + user.level),
        }),
        ownOpenUser: procedure({
          input: z.string(),
          output: z.number(),
          public: true,
          handler: ({ user }: ProcedureContext<Member | null>, word) =>
            word.length + (user?.level ?? 0),
        }),
        plain: {
          input: z.string(),
          output: z.number(),
          handler: (_context, word: string) => word.length,
        },
        // @ts-expect-error: a procedure has an output schema
        withoutOutput: { input: z.string(), handler: () => 1 },
        // @ts-expect-error: this is no schema
        withoutSchema: { input: "text", output: z.number(), handler: () => 1 },
      },
    });
  assertEquals(declare().options.id, notes.id);
});
