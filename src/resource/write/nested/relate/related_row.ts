import type { Connection } from "../../../../db/driver.ts";
import type { Key } from "../../../../plan/key.ts";
import type { Assignments } from "../../../../plan/plan.ts";
import { Problem } from "../../../../problem/problem.ts";
import type { Row } from "../../../../schema/table_info.ts";
import type { BodyPath, RelatedWrite, ResourceCall } from "../../../model/operation.ts";
import { atBodyPath } from "../../values/body_path.ts";
import type { NestedPlan } from "../nested_plan.ts";
import type { NestedRow } from "../nested_rows.ts";

/** A row that a change of related rows writes: a child or a link. */
export type RelatedRow =
  | {
    readonly kind: "update";
    /** A string that identifies the row if the change is resolved again for equal stored rows. */
    readonly id: string;
    readonly bodyPath: BodyPath;
    readonly key: Key;
    readonly current: Row;
    /** The new values of the row's foreign key. */
    readonly values: Assignments;
    /** The row of the body, or null if the body does not name it. */
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
  /** The rows to write. Removed rows come first, because they may conflict with other rows. */
  readonly rows: readonly RelatedRow[];
  /** The rows of the body that are related already, with their stored rows. */
  readonly related: readonly (readonly [NestedRow, Row])[];
}

export interface ResolvingContext {
  readonly plan: NestedPlan;
  readonly call: ResourceCall;
  readonly connection: Connection;
  /** Returns a row of the body, as far as its values are known. */
  rowOf(row: NestedRow): Row;
}

/** Returns the 403 for a row that the user may see but not write. */
export function outsideScopeProblem(access: RelatedWrite["access"], bodyPath: BodyPath): unknown {
  return atBodyPath(
    new Problem("forbidden", `Cannot ${access}: the row lies outside your scope`),
    bodyPath,
  );
}
