import type { Connection } from "../../db/driver.ts";
import { type Key, keyId } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import { readByKeys } from "./read_rows_to_write.ts";
import type { WriteCall } from "../operation.ts";
import { atBodyPath, type BodyPath, wholeBody } from "./body_path.ts";

/**
 * Requires that written rows lie within the scope that they were written under: a user cannot
 * create or move a row out of reach. The database evaluates the scope inside the transaction, by
 * one query for all rows, so that it means here what it means in reads. Throws a 403, which rolls
 * back; `bodyPaths` are those of the rows, where the body holds several.
 */
export async function requireWithinScope(
  { grant, resource }: WriteCall,
  keys: readonly Key[],
  connection: Connection,
  bodyPaths: readonly BodyPath[] = [],
): Promise<void> {
  if (grant.rows.kind === "all") return;
  const { table } = resource;
  const what = { keys, where: grant.rows, columns: table.primaryKey };
  const within = await readByKeys(what, resource, connection);
  const outside = keys.findIndex((key) => !within.has(keyId(key, table)));
  if (outside < 0) return;
  const problem = new Problem(
    "forbidden",
    `Cannot ${grant.access}: the row would lie outside your scope`,
  );
  throw atBodyPath(problem, bodyPaths[outside] ?? wholeBody);
}
