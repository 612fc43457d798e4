/** A service with streams in a separate process: to be killed, or to be measured. */
import { createApp } from "../../../../src/app/app.ts";
import { openDatabase } from "../../../../src/engines/open_database.ts";
import { all } from "../../../../src/filter/builders.ts";
import { Problem } from "../../../../src/problem/problem.ts";
import { resource } from "../../../../src/resource/define/resource_definition.ts";
import { text } from "../../../../src/schema/column_builder.ts";
import { table } from "../../../../src/schema/table.ts";

const [url = ""] = Deno.args;
const resumeTokens = table("marks", { id: text().primaryKey(), note: text() });
const db = await openDatabase(url);
await db.createTables([resumeTokens]);
const app = await createApp({
  db,
  secret: "a secret for the tests only",
  auth: {
    middleware: async (context, next) => {
      context.set("user", { id: "ada" });
      await next();
    },
  },
  subscribe: { maxPerUser: 100, maxPerAddress: 100 },
  resources: [
    resource(resumeTokens, {
      id: resumeTokens.id,
      auth: { public: true, create: () => all() },
      hooks: {
        onAfterCreate: async (_context, { id }) => {
          // Some transactions are open for a while, and some come to nothing.
          if (id.includes("wait")) await new Promise((resolve) => setTimeout(resolve, 2));
          if (id.includes("undone")) throw new Problem("forbidden", "Cannot create: it never may");
        },
      },
    }),
  ],
});
Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(`port ${port}`),
}, (request, info) => app.fetch(request, info));
