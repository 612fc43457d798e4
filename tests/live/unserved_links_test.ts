import { assertEquals } from "@std/assert";
import * as z from "zod";
import { all } from "../../src/filter/builders.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { procedure } from "../../src/resource/model/procedure.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { testOnDialects, withService } from "../support/http.ts";
import { openMultiplexed } from "./multiplexed_support.ts";

const items = table("items", { id: integer().primaryKey() });
const tags = table("tags", { id: integer().primaryKey(), label: text().notNull() });
const links = table("item_tags", {
  id: integer().primaryKey(),
  itemId: integer().notNull().references(() => items.id),
  tagId: integer().notNull().references(() => tags.id),
});

const writeSql = procedure({
  input: z.object({ text: z.string() }),
  output: z.null(),
  handler: async ({ db }, { text }) => {
    await db.query({ text, values: [] });
    return null;
  },
});

for (const mode of ["triggers", "service"] as const) {
  testOnDialects(
    `streams follow a link table that no resource serves (${mode})`,
    (engine) =>
      withService(engine, [items, tags, links], () => ({
        changes: { mode },
        resources: [
          resource(tags, { id: tags.id, auth: { public: true } }),
          resource(items, {
            id: items.id,
            auth: { public: true, create: () => all() },
            procedures: { writeSql },
            relations: {
              tags: {
                type: "manyToMany",
                resource: tags,
                through: links,
                foreignKey: links.itemId,
                references: links.tagId,
              },
            },
          }),
        ],
      }), async (service) => {
        const { db: { driver }, send } = service;
        await driver.query({ text: "INSERT INTO items VALUES (1)", values: [] });
        await driver.query({ text: "INSERT INTO tags VALUES (2, 'red')", values: [] });
        const stream = await openMultiplexed(service, [
          { key: "includes", path: "/api/items/subscribe?include=tags" },
        ]);
        const has = (key: string, part: string) => stream.texts.get(key)?.includes(part) === true;
        await stream.until(() => has("includes", `"tags":[]`));
        const text = `INSERT INTO item_tags ("id", "itemId", "tagId") VALUES (3, 1, 2)`;
        const answer = await send("POST", "/api/items/rpc/writeSql", { text }, { "x-user": "ada" });
        assertEquals(answer.status, 200);
        await stream.until(() => has("includes", `"label":"red"`));
        await stream.close();
      }),
  );
}
