/**
 * Schemathesis over the document of a service with writes: `deno task check-openapi 8` with so many
 * examples for each operation. It sends thousands of requests, valid and invalid ones and sequences
 * of them, and fails for a 5xx, an undocumented status, and an answer that violates its schema.
 *
 * The database is a copy of `CHINOOK_SQLITE`, else the demonstration; with `CHINOOK_POSTGRES` also
 * a Postgres of the tests' own. The program `schemathesis` (PyPI) must be on the `PATH`.
 */
import { openDatabase } from "../../src/db/open_database.ts";
import { startChild } from "../serve/child_process.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { startPostgresCluster } from "../support/postgres_cluster.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";

const [examples = "8", seed = "1"] = Deno.args;
const cli = new URL("../../cli.ts", import.meta.url).pathname;

/**
 * Not every text is a filter, a cursor or an `include`, and rows may conflict with others: refusals
 * of valid data are documented, and no fault.
 */
const settings = `[checks]
positive_data_acceptance.expected-statuses = [
  "2xx", "304", "400", "401", "403", "404", "409", "412", "422",
]
`;

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

async function check(name: string, args: readonly string[]): Promise<void> {
  await using child = startChild([cli, ...args, "--port", "0"], {
    cwd: folder.path,
    maxLifeMs: 3_600_000,
  });
  const [, url = ""] = await child.printed(/(http:\/\/[^/]+)\/api/);
  const [, token = ""] = await child.printed(/Bearer ([\w-]+)/);
  const file = `${folder.path}/schemathesis.toml`;
  await Deno.writeTextFile(file, settings);
  console.log(`${name}: ${url}`);
  const { success } = await new Deno.Command("schemathesis", {
    args: [
      ...["--config-file", file, "run", `${url}/__service/openapi.json`, "--url", url],
      ...["-H", `Authorization: Bearer ${token}`, "--checks", "all", "--seed", seed],
      ...["--max-examples", examples, "--phases", "examples,coverage,fuzzing,stateful"],
      // Streams do not end, and a NUL is in no text of any database.
      ...["--exclude-path-regex", "subscribe", "--generation-allow-x00", "false", "--no-color"],
    ],
    cwd: folder.path,
  }).spawn().status;
  if (!success) Deno.exit(1);
}
