import type { Connection } from "../db/driver.ts";
import { fetchCount } from "../db/rows.ts";
import { and } from "../filter/filter.ts";
import { keyFilter, keyOf } from "../plan/key.ts";
import { Problem } from "../problem/problem.ts";
import type { Row } from "../schema/table_info.ts";
import type { Write } from "./call.ts";

/**
 * A written row must itself lie within the scope it was written under: nobody creates or moves a
 * row out of their own reach. Asked of the database, inside the transaction, so that the scope
 * means here what it means everywhere. Throws a 403, which rolls back.
 */
export async function requireWithin(
  { grant, resource }: Write,
  row: Row,
  connection: Connection,
): Promise<void> {
  if (grant.rows.kind === "all") return;
  const { table, reader } = resource;
  const where = and(grant.rows, keyFilter(keyOf(row, table), table));
  const found = await fetchCount(connection, { kind: "count", table, where }, reader);
  if (found === 0) {
    throw new Problem("forbidden", `Cannot ${grant.access}: the row would lie outside your scope`);
  }
}
