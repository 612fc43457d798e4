import { fetchCount } from "../db/rows.ts";
import { allRows, and, type Filter } from "../filter/filter.ts";
import type { CountPlan } from "../plan/plan.ts";
import { answer } from "./answer.ts";
import type { Operation } from "./operation.ts";
import { shownRows, userFilter } from "./user_filter.ts";

/** `GET /count`: how many rows a list would walk through. */
export const count: Operation<Filter, CountPlan, number> = {
  name: "count",
  access: "read",
  takesBody: false,

  parse({ query }, resource) {
    return and(
      userFilter(query.get("filter"), resource) ?? allRows,
      shownRows(query, resource),
    );
  },

  plan(filter, grant, resource) {
    return { kind: "count", table: resource.table, where: and(grant.rows, filter) };
  },

  execute(plan, { resource }) {
    return fetchCount(resource.driver, plan, resource.reader);
  },

  shape(count) {
    return answer(200, { count });
  },
};
