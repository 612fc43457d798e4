/** The configuration of the services of the nemesis: the environment names what they share. */
import { openDatabase } from "../../src/engines/open_database.ts";
import type { ServeConfig } from "../../src/app/serve.ts";
import { itemsConfig } from "../simulation/items_config.ts";

/** The tokens of each buyer. */
export const budgetOfBuyer = 20;

const url = Deno.env.get("NEMESIS_DB");
const pooler = Deno.env.get("NEMESIS_POOLER");

/** Null in the process of the nemesis itself. */
const config: ServeConfig | null = url === undefined ? null : {
  ...itemsConfig(budgetOfBuyer),
  db: await openDatabase(pooler === undefined ? url : { primary: url, pooler }),
  kv: Deno.env.get("NEMESIS_KV"),
  idempotency: { storage: "db" },
  drainMs: 100,
};

export default config;
