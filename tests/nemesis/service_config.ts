/** The configuration of the services of the nemesis: the environment names what they share. */
import { openDatabase } from "../../src/engines/open_database.ts";
import type { ServeConfig } from "../../src/app/serve.ts";
import { all, eq } from "../../src/filter/builders.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { openSearch } from "../../src/search/opensearch/open_search.ts";
import { itemsConfig } from "../simulation/items_config.ts";

/** The tokens of each buyer. */
export const budgetOfBuyer = 20;

/** Notes of users, which each user can search. */
export const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
});

/** The rows of large imports. */
export const imported = table("imported", {
  id: integer().primaryKey(),
  title: text().notNull(),
});

const url = Deno.env.get("NEMESIS_DB");
const pooler = Deno.env.get("NEMESIS_POOLER");
const search = Deno.env.get("NEMESIS_SEARCH");

const cost = { read: 0, create: 0, update: 0, delete: 0 };
const writers = { create: () => all(), update: () => all(), delete: () => all() };
const shared = itemsConfig(budgetOfBuyer);

/** Null in the process of the nemesis itself. */
const config: ServeConfig | null = url === undefined ? null : {
  ...shared,
  db: await openDatabase(pooler === undefined ? url : { primary: url, pooler }),
  kv: Deno.env.get("NEMESIS_KV"),
  idempotency: { storage: "db" },
  drainMs: 100,
  ...(search === undefined ? {} : {
    search: openSearch({ node: search, indexPrefix: Deno.env.get("NEMESIS_SEARCH_PREFIX") }),
    searchOutbox: { intervalMs: 500, backoffBaseMs: 50 },
  }),
  resources: [
    ...shared.resources ?? [],
    resource(imported, {
      id: imported.id,
      cost,
      auth: writers,
      capabilities: { enableImport: true },
    }),
    resource(notes, {
      id: notes.id,
      cost,
      auth: { ...writers, read: ({ id }) => eq(notes.ownerId, id) },
      ...(search === undefined ? {} : { search: { fields: [notes.title], outbox: true } }),
    }),
  ],
};

export default config;
