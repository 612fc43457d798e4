import type { StreamContext } from "../stream_context.ts";
import { type LiveQuery, liveQueryKey } from "../dispatch/subscriber_group.ts";
import { type AggregateListener, LiveAggregate } from "./live_aggregate.ts";
import type { LiveAggregateQuery } from "./live_aggregate_query.ts";

/** The aggregates that somebody follows, each once, however many follow it. */
export class SharedAggregates {
  readonly #known = new Map<string, LiveAggregate>();

  /** Listens to the answers to a question about some rows. */
  enter(
    channel: StreamContext,
    query: LiveQuery,
    aggregateQuery: LiveAggregateQuery,
    listener: AggregateListener,
  ): LiveAggregate {
    const key = `${liveQueryKey(query)} ${aggregateQuery.key}`;
    const aggregate = this.#known.get(key) ?? new LiveAggregate(channel, query, aggregateQuery);
    this.#known.set(key, aggregate);
    aggregate.listeners.add(listener);
    return aggregate;
  }

  /** Listens no more; the last one takes the aggregate along. */
  leave(aggregate: LiveAggregate, listener: AggregateListener): void {
    aggregate.listeners.delete(listener);
    if (aggregate.listeners.size > 0) return;
    this.#known.delete(`${liveQueryKey(aggregate.query)} ${aggregate.aggregateQuery.key}`);
    aggregate.close();
  }
}
