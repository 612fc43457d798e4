import type { Row } from "../../../schema/table_info.ts";
import type { Relation } from "../../../schema/relation.ts";
import type { OperationCall } from "../../model/operation.ts";
import {
  type Include,
  type Included,
  noIncludes,
  requireFittingReply,
  viewOf,
} from "../../shape/output.ts";
import type { Resource, WrittenRows } from "../../model/resource.ts";
import { inTransaction } from "../transaction/in_transaction.ts";
import { idsOfRows, writeRecordingId, writeRecordingIds, type WrittenRow } from "../record_ids.ts";
import { lookedUpResources, type NestedRow, type NestedRows } from "./nested_rows.ts";
import { prepareSteps, storedRow } from "./prepare_steps.ts";
import { writeSteps } from "./write_steps.ts";
import { type NestedPlan, rowToUpdate } from "./nested_plan.ts";
import { loadIncluded } from "../../read/load_included.ts";
import { noResources } from "../../rights/related_grants.ts";
import { includeWithoutOptions, resourcesReadByIncludes } from "../../read/resolve_include.ts";
import { requireWithinScope, retryIfRowsChanged } from "../row_target.ts";

export interface CreatePlan extends NestedPlan {
  /** The optimistic id of each top-level row, in order, or null if the client has chosen none. */
  readonly ids: readonly (string | null)[];
}

export interface CreatedRows extends WrittenRows {
  readonly included: readonly Included[];
}

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
      // Connected rows can be large, and many rows can connect to one row, so the size is checked.
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

function embeddedIn(
  around: readonly NestedRow[],
  written: ReadonlyMap<NestedRow, Row>,
): readonly Included[] {
  const found = new Map<Relation, {
    readonly target: Resource;
    readonly rows: NestedRow[];
    readonly places: number[];
    readonly placeOf: (number | null)[];
  }>();
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
    aggregated: null,
  }));
}

export interface UpdateNestedPlan extends NestedPlan {
  readonly optimisticId: string | null;
}

export interface UpdatedRows extends WrittenRow {
  readonly included: readonly Included[];
}

/** Runs all before-hooks, then writes all rows and runs the after-hooks in one transaction. */
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
          // The scope can depend on relations that this update has changed after it wrote the row.
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

export function resourcesReadByUpdate(body: NestedRows): ReadonlySet<Resource> {
  const looked = lookedUpResources(body);
  const shown = resourcesReadByIncludes(includesOf(body.rows));
  return looked.size + shown.size === 0 ? noResources : new Set([...looked, ...shown]);
}

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
