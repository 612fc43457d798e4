import { type LiveQuery, liveQueryKey } from "../live_query.ts";
import type { StreamContext } from "../stream_context.ts";
import type { GroupMemory } from "./group_memory.ts";
import { type AggregateListener, LiveAggregate } from "./live_aggregate.ts";
import type { LiveAggregateQuery } from "./live_aggregate_query.ts";

/** The live aggregates of all streams. Streams with the same query share one live aggregate. */
export class SharedAggregates {
  readonly #context: StreamContext;
  readonly #memory: GroupMemory;
  readonly #aggregates = new Map<string, LiveAggregate>();

  /** Creates the registry. `memory` is shared by the groups of all its aggregates. */
  constructor(context: StreamContext, memory: GroupMemory) {
    this.#context = context;
    this.#memory = memory;
  }

  /** Adds a listener to the aggregate of a query. Creates the aggregate if it does not exist. */
  enter(
    query: LiveQuery,
    aggregateQuery: LiveAggregateQuery,
    listener: AggregateListener,
  ): LiveAggregate {
    const key = `${liveQueryKey(query)} ${aggregateQuery.key}`;
    const known = this.#aggregates.get(key);
    if (known !== undefined) {
      known.add(listener);
      return known;
    }
    const options = { query, aggregateQuery, memory: this.#memory, listener };
    const aggregate = new LiveAggregate(this.#context, options);
    this.#aggregates.set(key, aggregate);
    return aggregate;
  }

  /** Removes a listener. When the last listener is removed, the aggregate is closed. */
  leave(aggregate: LiveAggregate, listener: AggregateListener): void {
    if (aggregate.remove(listener)) return;
    this.#aggregates.delete(`${liveQueryKey(aggregate.query)} ${aggregate.aggregateQuery.key}`);
    aggregate.close();
  }
}
