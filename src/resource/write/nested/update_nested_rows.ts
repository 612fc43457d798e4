import type { Row } from "../../../schema/table_info.ts";
import {
  type Include,
  type Included,
  noIncludes,
  requireFittingReply,
} from "../../shape/output.ts";
import type { OperationCall } from "../../model/operation.ts";
import { loadIncluded } from "../../read/load_included.ts";
import { noResources } from "../../rights/related_grants.ts";
import { includeWithoutOptions, resourcesReadByIncludes } from "../../read/resolve_include.ts";
import type { Resource } from "../../model/resource.ts";
import { inTransaction } from "../transaction/in_transaction.ts";
import { writeRecordingId, type WrittenRow } from "../record_ids.ts";
import { requireWithinScope } from "../row_target.ts";
import { retryIfRowsChanged } from "../rows_changed.ts";
import { type NestedPlan, rowToUpdate } from "./nested_plan.ts";
import { lookedUpResources, type NestedRow, type NestedRows } from "./nested_rows.ts";
import { prepareSteps } from "./prepare_steps.ts";
import { storedRow } from "./write_state.ts";
import { writeSteps } from "./write_steps.ts";

export interface UpdateNestedPlan extends NestedPlan {
  readonly optimisticId: string | null;
}

export interface UpdatedRows extends WrittenRow {
  readonly included: readonly Included[];
}

/**
 * Updates a row and its relations. Runs all before-hooks, then writes everything and runs the
 * after-hooks in one transaction. The relations in the body are then read for the response.
 */
export async function updateNestedRows(
  plan: UpdateNestedPlan,
  call: OperationCall<UpdatedRows>,
): Promise<UpdatedRows> {
  const { resource } = call;
  const { target: { key } } = rowToUpdate(plan);
  const [named] = plan.body.rows;
  if (named === undefined) throw new Error("An update names one row");
  const includes = includesOf(plan.body.rows);
  return await retryIfRowsChanged(async (isLast) => {
    const prepared = await prepareSteps(plan, call);
    return await inTransaction(call, async (connection) => {
      const writing = { prepared, plan, call, isLast, written: new Map<NestedRow, Row>() };
      const written = await writeRecordingId(
        { key, optimisticId: plan.optimisticId },
        resource,
        connection,
        async () => {
          await writeSteps(writing, connection);
          // The scope can follow relations, which this update has changed after it wrote the row.
          await requireWithinScope({ ...call, grant: plan.grant }, [key], connection);
          return storedRow(named, writing.written);
        },
      );
      const limit = resource.readCosts.maxAnswerBytes;
      const reads = { connection, bytes: { limit, left: limit } };
      const included = await loadIncluded([written.row], includes, plan.related, reads);
      requireFittingReply([written.row], resource, included);
      return { ...written, included };
    });
  });
}

/** Returns the resources whose rows an update looks up or shows in its response. */
export function resourcesReadByUpdate(body: NestedRows): ReadonlySet<Resource> {
  const looked = lookedUpResources(body);
  const shown = resourcesReadByIncludes(includesOf(body.rows));
  return looked.size + shown.size === 0 ? noResources : new Set([...looked, ...shown]);
}

/** Returns includes without options for the relations that have nested rows. */
function includesOf(rows: readonly NestedRow[]): readonly Include[] {
  const inner = new Map<
    string,
    { readonly first: NestedRow["embedded"][number]; rows: NestedRow[] }
  >();
  for (const embedded of rows.flatMap((row) => row.embedded)) {
    const known = inner.get(embedded.relation.name);
    if (known === undefined) {
      inner.set(embedded.relation.name, { first: embedded, rows: [...embedded.rows] });
    } else known.rows.push(...embedded.rows);
  }
  if (inner.size === 0) return noIncludes;
  return [...inner.values()].map(({ first: { relation, target }, rows }) =>
    includeWithoutOptions(relation, target, includesOf(rows))
  );
}
