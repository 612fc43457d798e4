import { checkResource } from "./check_resource.ts";
import { openOracle } from "./oracle.ts";
import { serve } from "./served.ts";

/** The part of a database that is compared. */
export interface CheckOptions {
  /** The maximum number of rows of each table. */
  readonly maxRows: number;
  /** The Postgres schemas, or null for the first schema of the search path. */
  readonly schemas: readonly string[] | null;
  /** Receives a line for each resource, and the first differences. */
  readonly print: (line: string) => void;
}

const maxShown = 10;

/** URL parsing resolves `.` and `..`, even with encoded dots, so such a path has another target. */
function hasDotSegment(path: string): boolean {
  return path.split("/").some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}

/** Compares a service over a database with plain SQL. Returns the differences. */
export async function checkDatabase(
  place: string,
  { maxRows, schemas, print }: CheckOptions,
): Promise<readonly string[]> {
  const served = await serve(place, schemas);
  const oracle = await openOracle(place);
  const all: string[] = [];
  try {
    for (const resource of served.schema.resources) {
      if (hasDotSegment(resource.path)) {
        print(`${resource.path.padEnd(44)} has a path that no URL can have`);
        continue;
      }
      const before = served.requests;
      const checked = await checkResource(resource, { served, oracle, maxRows });
      const { differences, rows, refused, isWalked, varying } = checked;
      all.push(...differences);
      print(
        `${resource.path.padEnd(44)} ${String(rows).padStart(7)} rows ` +
          `${String(served.requests - before).padStart(6)} requests ` +
          `${String(refused).padStart(4)} refused ${String(differences.length).padStart(4)} differ`,
      );
      if (!isWalked) print("  not walkable: a page after the first is 400, name a key by --key");
      if (varying.length > 0) print(`  not comparable, SQL gives other values: ${varying}`);
      for (const difference of differences.slice(0, maxShown)) print(`  ${difference}`);
    }
  } finally {
    await oracle.close();
    await served.close();
  }
  print(`${served.schema.resources.length} resources, ${served.requests} requests`);
  print(`${all.length} differences`);
  return all;
}
