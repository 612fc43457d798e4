import { fetchCount } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import type { CountPlan } from "../../plan/plan.ts";
import { jsonReply } from "../http/json_reply.ts";
import type { Operation } from "../operation.ts";
import { shownRows, type WalkingFilter, walkingFilter } from "../read/user_filter.ts";

interface CountIntent {
  readonly filter: WalkingFilter;
  readonly shown: Filter;
}

/** `GET /count`: how many rows a list would walk through. */
export const count: Operation<CountIntent, CountPlan, number> = {
  name: "count",
  access: "read",
  takesBody: false,

  parse({ query }, resource) {
    return {
      filter: walkingFilter(query.get("filter"), resource),
      shown: shownRows(query, resource),
    };
  },

  reaches({ filter }) {
    return filter.reached;
  },

  plan({ filter, shown }, grant, { table }, { related }) {
    return { kind: "count", table, where: and(grant.rows, filter.within(related), shown) };
  },

  execute(plan, { resource }) {
    return fetchCount(resource.driver, plan, resource.reader);
  },

  shape(count) {
    return jsonReply(200, { count });
  },
};
