import type { Row } from "../../../schema/table_info.ts";
import type { ResourceCall } from "../../model/operation.ts";
import type { NestedPlan } from "./nested_plan.ts";
import type { NestedRow } from "./nested_rows.ts";
import type { PreparedValues } from "./prepare_steps.ts";

export interface WriteState {
  readonly prepared: PreparedValues;
  readonly plan: NestedPlan;
  readonly call: ResourceCall;
  /** True in the last attempt, in which a conflict with another request fails the write. */
  readonly isLast: boolean;
  readonly written: Map<NestedRow, Row>;
}

export function storedRow(row: NestedRow, written: ReadonlyMap<NestedRow, Row>): Row {
  const stored = written.get(row);
  if (stored === undefined) throw new Error("A row of the body was not written");
  return stored;
}
