import type { Connection } from "../../../../db/driver.ts";
import type { Key } from "../../../../plan/key.ts";
import type { Assignments } from "../../../../plan/plan.ts";
import { Problem } from "../../../../problem/problem.ts";
import type { Row } from "../../../../schema/table_info.ts";
import type { BodyPath, RelatedWrite, ResourceCall } from "../../../model/operation.ts";
import { atBodyPath } from "../../values/body_path.ts";
import type { NestedPlan } from "../nested_plan.ts";
import type { NestedRow } from "../nested_rows.ts";

/** A row that a change of related rows writes: a child, or a link. */
export type RelatedRow =
  | {
    readonly kind: "update";
    /** The same whenever the change is resolved, as long as the rows are. */
    readonly id: string;
    readonly bodyPath: BodyPath;
    readonly key: Key;
    readonly current: Row;
    /** The new values of its foreign key. */
    readonly values: Assignments;
    /** The row of the body that it is; null if the body does not name it. */
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

/** What a change of related rows comes to, as the rows are. */
export interface ResolvedChange {
  /** Those that are removed first, which may be in the way of the others. */
  readonly rows: readonly RelatedRow[];
  /** The rows that are related already. */
  readonly related: readonly (readonly [NestedRow, Row])[];
}

/** What a change of related rows is resolved with. */
export interface Resolving {
  readonly plan: NestedPlan;
  readonly call: ResourceCall;
  readonly connection: Connection;
  /** A row of the body, as far as it is known. */
  rowOf(row: NestedRow): Row;
}

/** The 403 for a row that the user may see, and not write to. */
export function outsideScope(access: RelatedWrite["access"], bodyPath: BodyPath): unknown {
  return atBodyPath(
    new Problem("forbidden", `Cannot ${access}: the row lies outside your scope`),
    bodyPath,
  );
}
