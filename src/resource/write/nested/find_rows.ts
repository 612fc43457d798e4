import type { Grant } from "../../../auth/authorize.ts";
import type { Connection } from "../../../db/driver.ts";
import { and } from "../../../filter/filter.ts";
import { type Key, keyId } from "../../../plan/key.ts";
import type { Row } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { atBodyPath } from "../values/batch_items.ts";
import { invalidField } from "../values/parse_fields.ts";
import { readByKeys } from "../read_rows_to_write.ts";
import type { NestedRow } from "./nested_rows.ts";

/** Finds rows by keys, in order. A missing row and an unreadable row cause an identical 422. */
export async function findRows(
  rows: readonly NestedRow[],
  resource: Resource,
  related: ReadonlyMap<Resource, Grant>,
  connection: Connection,
): Promise<readonly Row[]> {
  const { table, undeleted } = resource;
  const right = related.get(resource);
  const keys = rows.map((row) => keyOfExistingRow(row, resource));
  const found = right === undefined ? new Map<string, Row>() : await readByKeys(
    { keys, where: and(right.rows, undeleted), columns: resource.stored },
    resource,
    connection,
  );
  return rows.map(({ bodyPath }, index) => {
    const row = found.get(keyId(keys[index] ?? [], table));
    if (row !== undefined) return row;
    throw atBodyPath(invalidField("names no row"), bodyPath);
  });
}

export function keyOfExistingRow({ given }: NestedRow, { table }: Resource): Key {
  return table.primaryKey.map((column) => given.get(column));
}
