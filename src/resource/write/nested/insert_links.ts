import type { Connection } from "../../../db/driver.ts";
import { chunksOf } from "../../../plan/key.ts";
import type { Assignments } from "../../../plan/plan.ts";
import type { TableInfo } from "../../../schema/table_info.ts";
import type { ResourceCall } from "../../model/operation.ts";

/** Inserts rows of a link table without a resource, and therefore without scope and hooks. */
export async function insertLinks(
  rows: readonly Assignments[],
  table: TableInfo,
  { resource: { driver, reader } }: ResourceCall,
  connection: Connection,
): Promise<void> {
  const columns = [...rows[0]?.keys() ?? []];
  for (const some of chunksOf(rows, Math.floor(driver.dialect.maxValues / columns.length))) {
    const plan = { kind: "insert" as const, table, columns, rows: some, returning: [] };
    await connection.query(reader.compile(plan));
  }
}
