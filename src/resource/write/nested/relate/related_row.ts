import type { Connection } from "../../../../db/driver.ts";
import type { Key } from "../../../../plan/key.ts";
import type { Assignments } from "../../../../plan/plan.ts";
import { Problem } from "../../../../problem/problem.ts";
import type { Row } from "../../../../schema/table_info.ts";
import type { BodyPath, RelatedWrite, ResourceCall } from "../../../model/operation.ts";
import { atBodyPath } from "../../values/batch_items.ts";
import type { NestedPlan } from "../nested_plan.ts";
import type { NestedRow } from "../nested_rows.ts";

/** A row that a change of a relation writes: a child row, or a row of a link table. */
export type RelatedRow =
  | {
    readonly kind: "update";
    /** Identifies the row. Resolving the change again for equal stored rows results in this id. */
    readonly id: string;
    readonly bodyPath: BodyPath;
    readonly key: Key;
    readonly current: Row;
    /** The new values of the row's foreign key. */
    readonly values: Assignments;
    /** The row in the body, or null for a row that only `set` disconnects. */
    readonly row: NestedRow | null;
  }
  | {
    readonly kind: "insert";
    readonly id: string;
    readonly bodyPath: BodyPath;
    readonly values: Assignments;
  }
  | {
    readonly kind: "delete";
    readonly id: string;
    readonly bodyPath: BodyPath;
    readonly key: Key;
    readonly current: Row;
  };

export interface ResolvedChange {
  /** The rows to write. Removed rows come first, because new rows can conflict with them. */
  readonly rows: readonly RelatedRow[];
  /** The rows of the body that are related already, and the stored row of each. */
  readonly related: readonly (readonly [NestedRow, Row])[];
}

export interface RelationLockContext {
  readonly plan: NestedPlan;
  readonly call: ResourceCall;
  readonly connection: Connection;
  /** Returns the known values of a row of the body. */
  rowOf(row: NestedRow): Row;
}

/** Returns the 403 for a row that the user can see but not write. */
export function rowOutsideScopeProblem(
  access: RelatedWrite["access"],
  bodyPath: BodyPath,
): unknown {
  return atBodyPath(
    new Problem("forbidden", `Cannot ${access}: the row lies outside your scope`),
    bodyPath,
  );
}
