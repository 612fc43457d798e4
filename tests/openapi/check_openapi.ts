/**
 * Schemathesis over the document of a service with writes: `deno task check-openapi 8` with so many
 * examples for each operation. It sends thousands of requests, valid and invalid ones and sequences
 * of them, and fails for a 5xx, an undocumented status, and an answer that violates its schema.
 *
 * The database is a copy of `CHINOOK_SQLITE`, else the demonstration; with `CHINOOK_POSTGRES` also
 * a Postgres of the tests' own.
 */
import { openDatabase } from "../../src/engines/open_database.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { startPostgresCluster } from "../support/postgres_cluster.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";
import { checkBySchemathesis, findSchemathesis } from "./schemathesis.ts";

const [examples = "8", seed = "1"] = Deno.args;
const found = await findSchemathesis();
if ("missing" in found) throw new Error(found.missing);
const { program } = found;

await using folder = await scratchFolder();
const sqlite = Deno.env.get("CHINOOK_SQLITE");
if (sqlite !== undefined) await Deno.copyFile(sqlite, `${folder.path}/chinook.sqlite`);
await check("SQLite", sqlite === undefined ? [] : ["chinook.sqlite", "--write"]);

const script = Deno.env.get("CHINOOK_POSTGRES");
if (script !== undefined) {
  const cluster = await startPostgresCluster();
  if ("missing" in cluster) throw new Error(cluster.missing);
  try {
    const scratch = await createScratchDatabase(cluster.url);
    const text = await Deno.readTextFile(script);
    const db = await openDatabase(scratch.url);
    // The script begins with psql commands that create a database and connect to it.
    await runScript(db.driver, text.slice(text.indexOf("CREATE TABLE")));
    await db.close();
    await check("Postgres", [scratch.url, "--write"]);
  } finally {
    await cluster.stop();
  }
}

async function check(name: string, service: readonly string[]): Promise<void> {
  console.log(name);
  const run = { program, folder: folder.path, service, examples, seed };
  const { success, printed } = await checkBySchemathesis(run);
  console.log(printed);
  if (!success) Deno.exit(1);
}
