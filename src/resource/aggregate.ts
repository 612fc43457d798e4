import { fetchGroups, type Group } from "../db/groups.ts";
import { allRows, and, type Filter } from "../filter/filter.ts";
import type { AggregatePlan } from "../plan/plan.ts";
import { answer } from "./answer.ts";
import { type GroupQuestion, parseGroupQuestion } from "./group_question.ts";
import type { Operation } from "./operation.ts";
import { presentGroups } from "./output.ts";
import { userFilter } from "./user_filter.ts";

interface AggregateIntent {
  readonly filter: Filter;
  readonly question: GroupQuestion;
}

/** `GET /aggregate`: groups of the rows that a list would walk through, and metrics of each. */
export const aggregate: Operation<AggregateIntent, AggregatePlan, readonly Group[]> = {
  name: "aggregate",
  access: "read",
  takesBody: false,

  parse({ query }, resource) {
    return {
      filter: and(userFilter(query.get("filter"), resource) ?? allRows, resource.live),
      question: parseGroupQuestion(query, resource),
    };
  },

  plan({ filter, question }, grant, resource) {
    return {
      kind: "aggregate",
      table: resource.table,
      where: and(grant.rows, filter),
      keys: question.keys,
      metrics: [...question.metrics, ...question.furtherMetrics],
      having: question.having,
      order: question.order,
      // One more than asked for tells whether there are others.
      limit: question.limit + 1,
    };
  },

  execute(plan, { resource }) {
    return fetchGroups(resource.driver, plan, resource.reader);
  },

  shape(groups, { question: { keys, metrics, limit } }, resource) {
    const view = { keys, metrics, readable: resource.fields.readable };
    return answer(200, {
      groups: presentGroups(groups.slice(0, limit), view),
      hasMore: groups.length > limit,
    });
  },
};
