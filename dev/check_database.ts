/**
 * Compares everything that the service answers over a database with plain SQL:
 * `deno task check-database DATABASE [--rows N] [--schema a,b]`, where DATABASE is a SQLite file or a URL of
 * Postgres. It only reads. For each resource: a walk through all pages, row for row; counts; both
 * orders of and filters by every column; rows by key; related rows along every relation; both forms
 * of an export. Ends with 1 where anything differs, and prints the paths of the requests.
 */
import { parseArgs } from "node:util";
import { checkDatabase } from "./check_database/check_database.ts";

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
  const maxRows = Number(values.rows);
  const differences = await checkDatabase(place, { maxRows, schemas, print: console.log });
  Deno.exit(differences.length === 0 ? 0 : 1);
}
