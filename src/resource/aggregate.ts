import { fetchGroups, type Group } from "../db/groups.ts";
import { and } from "../filter/filter.ts";
import type { AggregatePlan } from "../plan/plan.ts";
import { answer } from "./answer.ts";
import { type GroupQuestion, parseGroupQuestion } from "./group_question.ts";
import type { Operation } from "./operation.ts";
import { presentGroups } from "./output.ts";
import { type WalkingFilter, walkingFilter } from "./user_filter.ts";

interface AggregateIntent {
  readonly filter: WalkingFilter;
  readonly question: GroupQuestion;
}

/** `GET /aggregate`: groups of the rows that a list would walk through, and metrics of each. */
export const aggregate: Operation<AggregateIntent, AggregatePlan, readonly Group[]> = {
  name: "aggregate",
  access: "read",
  takesBody: false,

  parse({ query }, resource) {
    return {
      filter: walkingFilter(query.get("filter"), resource),
      question: parseGroupQuestion(query, resource),
    };
  },

  reaches({ filter }) {
    return filter.reached;
  },

  plan({ filter, question }, grant, resource, { related }) {
    return {
      kind: "aggregate",
      table: resource.table,
      where: and(grant.rows, filter.within(related), resource.live),
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
