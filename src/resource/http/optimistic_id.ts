import type { Connection } from "../../db/driver.ts";
import { recordOptimisticId } from "../../db/changes/record_optimistic_id.ts";
import { keyOf } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import type { Row } from "../../schema/table_info.ts";
import type { ResourceRequest } from "../operation.ts";
import type { Resource } from "../define/resource.ts";

/**
 * Parses the optimistic id of a create: the client's own id of the new row, by which it recognizes
 * the row among the events of a live stream. Null without the header; throws a 400 for an invalid
 * value.
 */
export function parseOptimisticId({ header }: ResourceRequest): string | null {
  const id = header("service-optimistic-id");
  if (id === null || /^[\x20-\x7e]{1,200}$/.test(id)) return id;
  throw new Problem(
    "invalid-parameter",
    "Cannot use this Service-Optimistic-Id: it must be 1 to 200 printable ASCII characters",
  );
}

/** Records the optimistic id with the change that created the row, in the same transaction. */
export async function attachOptimisticId(
  row: Row,
  optimisticId: string,
  { table, reader }: Resource,
  connection: Connection,
): Promise<void> {
  await recordOptimisticId(connection, { table, key: keyOf(row, table), optimisticId }, reader);
}
