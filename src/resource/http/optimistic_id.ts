import type { Connection } from "../../db/driver.ts";
import { recordOptimisticId } from "../../db/changes/record_optimistic_id.ts";
import { keyOf } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import type { Row } from "../../schema/table_info.ts";
import type { ResourceRequest } from "../operation.ts";
import type { Resource } from "../define/resource.ts";

/**
 * What a client calls the row that it is about to create, so that it knows its own row among the
 * events of a live stream. Null without the header; throws a 400 for what cannot be one.
 */
export function parseOptimisticId({ header }: ResourceRequest): string | null {
  const id = header("service-optimistic-id");
  if (id === null || /^[\x20-\x7e]{1,200}$/.test(id)) return id;
  throw new Problem(
    "invalid-parameter",
    "Cannot use this Service-Optimistic-Id: it must be 1 to 200 printable ASCII characters",
  );
}

/** Lets the change that made a row carry the client's name for it: in the same transaction. */
export async function attachOptimisticId(
  row: Row,
  optimisticId: string,
  { table, reader }: Resource,
  connection: Connection,
): Promise<void> {
  await recordOptimisticId(connection, { table, key: keyOf(row, table), optimisticId }, reader);
}
