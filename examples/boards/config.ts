/** The API of all boards in this folder: one table of cards, which every visitor may change. */
import { all, integer, openDatabase, resource, table, text, uuid } from "@svc/resource-api";
import type { ServiceConfig } from "@svc/resource-api";

const cards = table("cards", {
  id: uuid().primaryKey(),
  title: text({ maxLength: 200 }).notNull(),
  status: text({ enum: ["todo", "doing", "done"] }).notNull().default("todo"),
  rank: text().notNull(), // the place in the column: a string between those of its neighbours
  version: integer().notNull().default(1),
});

const db = await openDatabase(Deno.env.get("DATABASE") ?? "sqlite:boards.db");
await db.createTables([cards]);

const config: ServiceConfig = {
  db,
  auth: {
    // A stand-in: a real service checks a session or a token here.
    middleware: async (c, next) => {
      c.set("user", { id: "guest" });
      await next();
    },
  },
  idempotency: { storage: "db" }, // a write that arrives twice is executed once
  resources: [
    resource(cards, {
      id: cards.id,
      auth: {
        read: all,
        subscribe: all,
        create: all,
        update: all,
        delete: all,
      },
      etag: { versionField: cards.version },
      generatedFields: [cards.id],
    }),
  ],
};

export default config;
