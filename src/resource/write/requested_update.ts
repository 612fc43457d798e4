import type { Grant } from "../../auth/authorize.ts";
import type { Key } from "../../plan/key.ts";
import { kindOf } from "../../schema/kinds.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { beforeUpdate } from "./run_hooks.ts";
import type { OperationCall } from "../operation_call.ts";
import { inWrite } from "./in_write.ts";
import { InvalidFields } from "./parse_fields.ts";
import type { ResourceRequest } from "../operation.ts";
import type { Resource } from "../define/resource.ts";
import { type NamedRow, parseNamedRow, planTarget, type RowTarget } from "./row_target.ts";
import { updateRow } from "./update_row.ts";

/** What a PATCH or PUT wants: which row, and the new values of some of its columns. */
export interface RequestedUpdate {
  readonly named: NamedRow;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
}

/** A change, under a right. */
export interface RequestedUpdatePlan {
  readonly target: RowTarget;
  readonly values: ReadonlyMap<ColumnInfo, unknown>;
  readonly grant: Grant;
}

/** The change that a request asks for. */
export function parseUpdate(
  request: ResourceRequest,
  values: ReadonlyMap<ColumnInfo, unknown>,
  resource: Resource,
): RequestedUpdate {
  return { named: parseNamedRow(request, resource), values };
}

/** Throws a 404 for an impossible id, and a 422 for a body that would re-key the row. */
export function planUpdate(
  { named, values }: RequestedUpdate,
  grant: Grant,
  resource: Resource,
): RequestedUpdatePlan {
  const target = planTarget(named, resource);
  return { target, values: withoutKey(values, target.key, resource), grant };
}

/** Before-hook, transaction, after-hook. */
export async function executeUpdate(
  plan: RequestedUpdatePlan,
  call: OperationCall<Row>,
): Promise<Row> {
  const write = { ...call, grant: plan.grant };
  const { target } = plan;
  const changed = await beforeUpdate(target, plan.values, write);
  const set = withoutKey(changed, target.key, call.resource);
  return await inWrite(
    write,
    "onAfterUpdate",
    (connection) => updateRow(target, set, write, connection),
  );
}

/** The values but for the key, which an update never changes. */
export function withoutKey(
  values: ReadonlyMap<ColumnInfo, unknown>,
  key: Key,
  { table }: Resource,
): ReadonlyMap<ColumnInfo, unknown> {
  const rest = new Map(values);
  table.primaryKey.forEach((column, index) => {
    if (!rest.has(column)) return;
    if (kindOf(column.kind).compare?.(rest.get(column), key[index]) !== 0) {
      throw new InvalidFields([{ path: column.name, message: "must be the id of the path" }]);
    }
    rest.delete(column);
  });
  return rest;
}
