import { fetchCount } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import type { CountPlan } from "../../plan/plan.ts";
import { countReply } from "../http/json_reply.ts";
import type { Operation } from "../model/operation.ts";
import { limitedReadConnection } from "../read/limited_reads.ts";
import { softDeleteFilter } from "../read/list_query.ts";
import { parseQueryFilter } from "../read/user_filter.ts";
import type { RelationFilter } from "../shape/output.ts";

interface CountIntent {
  readonly filter: RelationFilter;
  readonly shown: Filter;
}

export const count: Operation<CountIntent, CountPlan, number> = {
  name: "count",
  access: "read",
  takesBody: false,

  parse({ query }, resource) {
    return {
      filter: parseQueryFilter(query, resource),
      shown: softDeleteFilter(query, resource),
    };
  },

  readsFrom({ filter }) {
    return filter.reached;
  },

  plan({ filter, shown }, grant, { table }, { related }) {
    return { kind: "count", table, where: and(grant.rows, filter.restrictTo(related), shown) };
  },

  execute(plan, call) {
    return fetchCount(limitedReadConnection(call), plan, call.resource.reader);
  },

  shape: countReply,
};
