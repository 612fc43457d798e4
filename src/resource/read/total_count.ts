import type { Grant } from "../../auth/authorize.ts";
import type { Connection } from "../../db/driver.ts";
import { fetchCount, fetchEstimate, type RowReader } from "../../db/rows.ts";
import type { RoleRights } from "../../db/tables/role_rights.ts";
import { type Filter, termsOnSameRow } from "../../filter/filter.ts";
import type { ReadPlan } from "../../plan/plan.ts";
import type { TotalCountMode } from "./list_query.ts";
import type { Resource } from "../model/resource.ts";

/** The total number of rows on all pages of a list, as members of the response. */
export interface TotalCount {
  readonly totalCount: number;
  readonly totalCountEstimated?: true;
}

export type TotalCountPlan = ReturnType<typeof planTotalCount>;

/**
 * Plans a list's total count. The plan contains an estimate only if the request asks for one, if
 * the engine supports estimates, and if the estimate reveals no more than the count does.
 */
export function planTotalCount(
  where: Filter,
  mode: Exclude<TotalCountMode, "none">,
  grant: Grant,
  resource: Resource,
) {
  const { table, reader, identityOf } = resource;
  const mayEstimate = mode === "estimated" && reader.dialect.estimate !== null &&
    // With `actAs`, policies of the database hide rows, but an estimate would count them.
    identityOf === null &&
    // The planner's statistics cover the whole table. If the user can read only some of its rows,
    // or some rows of a related table, an estimate would reveal the number of hidden rows.
    grant.rows.kind === "all" && staysInTable(where);
  return {
    count: { kind: "count", table, where } as const,
    // The estimate comes first. Null if the rows must be counted.
    estimate: mayEstimate ? { kind: "estimate", table, where } as const : null,
  };
}

/**
 * The smallest estimate that is used. Below it, the rows are counted. Postgres assumes ten pages
 * for a table that is not analysed yet: 2,260 of the smallest rows, even if the table is empty.
 */
const minEstimated = 2_500;

/** Fetches a list's total count. `found` rows were read: up to one more than the page has. */
export async function fetchTotalCount(
  plan: TotalCountPlan,
  { read, found }: { readonly read: ReadPlan; readonly found: number },
  { connection, reader, roleRights }: {
    readonly connection: Connection;
    readonly reader: RowReader;
    readonly roleRights: RoleRights;
  },
): Promise<TotalCount> {
  // If the first page is not full, it contains all rows.
  if (isFirst(read) && read.limit !== null && found < read.limit) return { totalCount: found };
  const mayEstimate = plan.estimate !== null &&
    (await roleRights.of(plan.estimate.table))?.mayEstimate === true;
  const estimate = plan.estimate === null || !mayEstimate
    ? null
    : await fetchEstimate(connection, plan.estimate, reader);
  return estimate === null || estimate < minEstimated
    ? { totalCount: await fetchCount(connection, plan.count, reader) }
    : { totalCount: Math.max(estimate, found), totalCountEstimated: true };
}

function isFirst({ after, from, offset = 0 }: ReadPlan): boolean {
  return after === null && offset === 0 &&
    (from === undefined || from.values.length === 0 && from.skip === 0);
}

function staysInTable(filter: Filter): boolean {
  return filter.kind !== "related" && termsOnSameRow(filter).every(staysInTable);
}
