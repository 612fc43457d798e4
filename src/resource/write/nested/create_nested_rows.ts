import type { Row } from "../../../schema/table_info.ts";
import type { Relation } from "../../../schema/relation.ts";
import type { OperationCall } from "../../model/operation.ts";
import { type Included, requireFittingReply, viewOf } from "../../shape/output.ts";
import type { Resource } from "../../model/resource.ts";
import { inTransaction } from "../transaction/in_transaction.ts";
import { idsOfRows, writeRecordingIds } from "../record_ids.ts";
import type { NestedRow } from "./nested_rows.ts";
import { prepareSteps } from "./prepare_steps.ts";
import { retryIfRowsChanged } from "../rows_changed.ts";
import { storedRow } from "./write_state.ts";
import { writeSteps } from "./write_steps.ts";
import type { NestedPlan } from "./nested_plan.ts";
import type { WrittenRows } from "../../model/written_rows.ts";

export interface CreatePlan extends NestedPlan {
  /** The ids of the top-level rows for live events, in order. Null means that a row has no id. */
  readonly ids: readonly (string | null)[];
}

export interface CreatedRows extends WrittenRows {
  readonly included: readonly Included[];
}

/** Runs all before-hooks, then creates the rows with their nested rows in one transaction. */
export async function createNestedRows(
  plan: CreatePlan,
  call: OperationCall<CreatedRows>,
): Promise<CreatedRows> {
  const idsOf = idsOfRows(plan.ids, call.resource.table);
  return await retryIfRowsChanged(async (isLast) => {
    const prepared = await prepareSteps(plan, call);
    return await inTransaction(call, async (connection) => {
      const writing = { prepared, plan, call, isLast, written: new Map<NestedRow, Row>() };
      const { written: rows, recorded } = await writeRecordingIds(
        idsOf,
        call.resource,
        connection,
        async () => {
          await writeSteps(writing, connection);
          return storedRows(plan.body.rows, writing.written);
        },
      );
      const included = embeddedIn(plan.body.rows, writing.written);
      // Connected rows can be large, and many new rows can connect to the same row.
      requireFittingReply(rows, call.resource, included);
      return { rows, included, recorded };
    });
  });
}

function storedRows(
  rows: readonly NestedRow[],
  written: ReadonlyMap<NestedRow, Row>,
): readonly Row[] {
  return rows.map((row) => storedRow(row, written));
}

/** Returns the nested rows under the relation names in the body, as a read includes them. */
function embeddedIn(
  around: readonly NestedRow[],
  written: ReadonlyMap<NestedRow, Row>,
): readonly Included[] {
  const found = new Map<Relation, Embedded>();
  around.forEach(({ embedded }, place) => {
    for (const { relation, target, rows } of embedded) {
      const known = found.get(relation);
      const one = known ?? { target, rows: [], places: [], placeOf: around.map(() => null) };
      if (known === undefined) found.set(relation, one);
      one.rows.push(...rows);
      one.places.push(...rows.map(() => place));
      one.placeOf[place] = place;
    }
  });
  return [...found].map(([relation, { target, rows, places, placeOf }]) => ({
    relation,
    view: viewOf(target),
    rows: storedRows(rows, written),
    read: target.stored,
    places,
    placeOf,
    included: embeddedIn(rows, written),
  }));
}

interface Embedded {
  readonly target: Resource;
  readonly rows: NestedRow[];
  readonly places: number[];
  readonly placeOf: (number | null)[];
}
