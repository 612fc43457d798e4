import { type LiveQuery, liveQueryKey } from "../live_query.ts";
import type { StreamContext } from "../stream_context.ts";
import { type AggregateListener, LiveAggregate } from "./live_aggregate.ts";
import type { LiveAggregateQuery } from "./live_aggregate_query.ts";

/**
 * The live aggregates that streams share: all streams with the same aggregate query follow one of
 * them.
 */
export class SharedAggregates {
  readonly #context: StreamContext;
  readonly #aggregates = new Map<string, LiveAggregate>();

  /** Begins without aggregates. */
  constructor(context: StreamContext) {
    this.#context = context;
  }

  /** Adds a listener to the aggregate over the rows of a query. */
  enter(
    query: LiveQuery,
    aggregateQuery: LiveAggregateQuery,
    listener: AggregateListener,
  ): LiveAggregate {
    const key = `${liveQueryKey(query)} ${aggregateQuery.key}`;
    const aggregate = this.#aggregates.get(key) ??
      new LiveAggregate(this.#context, query, aggregateQuery);
    this.#aggregates.set(key, aggregate);
    aggregate.listeners.add(listener);
    return aggregate;
  }

  /** Removes a listener; without any the aggregate is closed. */
  leave(aggregate: LiveAggregate, listener: AggregateListener): void {
    aggregate.listeners.delete(listener);
    if (aggregate.listeners.size > 0) return;
    this.#aggregates.delete(`${liveQueryKey(aggregate.query)} ${aggregate.aggregateQuery.key}`);
    aggregate.close();
  }
}
