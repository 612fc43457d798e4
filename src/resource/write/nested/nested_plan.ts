import type { Grant } from "../../../auth/authorize.ts";
import type { Assignments } from "../../../plan/plan.ts";
import type { Resource } from "../../model/resource.ts";
import type {
  AdditionalGrants,
  RelatedWrite,
  ResourceCall,
  WriteCall,
} from "../../model/operation.ts";
import type { RowTarget } from "../row_target.ts";
import type { NestedRows } from "./nested_rows.ts";

/** The plan to write rows with their nested rows and relations, and the grants for these writes. */
export interface NestedPlan extends Pick<AdditionalGrants, "written" | "related"> {
  readonly body: NestedRows;
  /** The grant for the rows of the top level. */
  readonly grant: Grant;
  /** The row to update on the top level, or null if rows are created. */
  readonly updated: RowToUpdate | null;
}

/** The row that an update request addresses, and its new values from the body. */
export interface RowToUpdate {
  readonly target: RowTarget;
  readonly values: Assignments;
}

/** Returns the row to update. The plan must contain a step of kind `update`. */
export function rowToUpdate({ updated }: NestedPlan): RowToUpdate {
  if (updated === null) throw new Error("Only a plan that names a row updates one");
  return updated;
}

export function nestedWriteCall(
  resource: Resource,
  access: RelatedWrite["access"],
  { body, grant, written }: NestedPlan,
  call: ResourceCall,
): WriteCall {
  const isOwn = resource === body.resource && access === body.access;
  const right = isOwn ? grant : written.get(access)?.get(resource);
  if (right === undefined) {
    throw new Error(`There is no grant to ${access} rows of ${resource.name}`);
  }
  return { ...call, resource, grant: right };
}
