/**
 * Compares everything that the service answers over a database with plain SQL:
 * `deno task check-database DATABASE [--rows N] [--schema a,b]`, where DATABASE is a SQLite file or a URL of
 * Postgres. It only reads. For each resource: a walk through all pages, row for row; counts; both
 * orders of and filters by every column; rows by key; related rows along every relation; both forms
 * of an export. Ends with 1 where anything differs, and prints the paths of the requests.
 */
import { parseArgs } from "node:util";
import { checkResource } from "./check_database/check_resource.ts";
import { openOracle } from "./check_database/oracle.ts";
import { serve } from "./check_database/served.ts";

const maxShown = 10;

if (import.meta.main) {
  const { positionals: [place], values } = parseArgs({
    args: Deno.args,
    allowPositionals: true,
    options: { rows: { type: "string", default: "2000" }, schema: { type: "string" } },
  });
  if (place === undefined) {
    console.error("Name a database: deno task check-database shop.db");
    Deno.exit(2);
  }
  const schemas = values.schema?.split(",") ?? null;
  const differences = await checkDatabase(place, { maxRows: Number(values.rows), schemas });
  Deno.exit(differences === 0 ? 0 : 1);
}

/** How much of a database is compared. */
export interface CheckOptions {
  /** The most rows of each table. */
  readonly maxRows: number;
  /** Of Postgres; null for the first one of the search path. */
  readonly schemas: readonly string[] | null;
}

/** Prints the comparison, and gives the number of differences. */
export async function checkDatabase(
  place: string,
  { maxRows, schemas }: CheckOptions,
): Promise<number> {
  const served = await serve(place, schemas);
  const oracle = await openOracle(place);
  let total = 0;
  try {
    for (const resource of served.schema.resources) {
      const before = served.requests;
      const checked = await checkResource(resource, { served, oracle, maxRows });
      const { differences, rows, refused } = checked;
      total += differences.length;
      console.log(
        `${resource.path.padEnd(44)} ${String(rows).padStart(7)} rows ` +
          `${String(served.requests - before).padStart(6)} requests ` +
          `${String(refused).padStart(4)} refused ${String(differences.length).padStart(4)} differ`,
      );
      for (const difference of differences.slice(0, maxShown)) console.log(`  ${difference}`);
    }
  } finally {
    await oracle.close();
    await served.close();
  }
  console.log(`${served.schema.resources.length} resources, ${served.requests} requests`);
  console.log(`${total} differences`);
  return total;
}
