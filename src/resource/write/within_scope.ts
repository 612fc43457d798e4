import type { Connection } from "../../db/driver.ts";
import { type Key, keyId } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import { readByKeys } from "./read_rows_to_write.ts";
import type { WriteCall } from "../operation.ts";
import { atBodyPath, type BodyPath, wholeBody } from "./body_path.ts";

/**
 * Written rows must themselves lie within the scope they were written under: nobody creates or
 * moves a row out of their own reach. Asked of the database, inside the transaction, once for all
 * of them, so that the scope means here what it means everywhere. Throws a 403, which rolls back;
 * `places` are those of the rows in the body, where it holds several.
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
