import type { Row } from "../../../schema/table_info.ts";
import type { ResourceCall } from "../../model/operation.ts";
import type { NestedPlan } from "./nested_plan.ts";
import type { NestedRow } from "./nested_rows.ts";
import type { Prepared } from "./prepare_steps.ts";

/** The writing of nested rows, in their transaction. */
export interface WriteState {
  readonly prepared: Prepared;
  readonly plan: NestedPlan;
  readonly call: ResourceCall;
  /** True if what other requests do at the same time is an error now, and no reason to begin again. */
  readonly isLast: boolean;
  /** The rows as they are stored: grows with each step. */
  readonly written: Map<NestedRow, Row>;
}

/** A nested row as it is stored, by an earlier step. */
export function storedRow(row: NestedRow, written: ReadonlyMap<NestedRow, Row>): Row {
  const stored = written.get(row);
  if (stored === undefined) throw new Error("A row of the body was not written");
  return stored;
}
