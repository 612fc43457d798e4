/**
 * Compares all responses of the service over a database with plain SQL: `deno task check-database
 * DATABASE [--rows N] [--schema a,b]`. DATABASE is a SQLite file or a URL of Postgres, and is only
 * read. For each resource, compares all pages row by row, counts, orders and filters by every
 * column, rows by key, related rows of every relation, and both forms of an export. The exit code
 * is 1 if anything differs. Prints the paths of requests with differences.
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
