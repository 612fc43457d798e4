import type { Channel } from "../channel.ts";
import { groupKey, type Interest } from "../dispatch/subscriber_group.ts";
import { type AggregateListener, LiveAggregate } from "./live_aggregate.ts";
import type { LiveAggregateQuery } from "./live_aggregate_query.ts";

/** The aggregates that somebody follows, each once, however many follow it. */
export class LiveAggregates {
  readonly #known = new Map<string, LiveAggregate>();

  /** Listens to the answers to a question about some rows. */
  enter(
    channel: Channel,
    interest: Interest,
    question: LiveAggregateQuery,
    listener: AggregateListener,
  ): LiveAggregate {
    const key = `${groupKey(interest)} ${question.key}`;
    const aggregate = this.#known.get(key) ?? new LiveAggregate(channel, interest, question);
    this.#known.set(key, aggregate);
    aggregate.listeners.add(listener);
    return aggregate;
  }

  /** Listens no more; the last one takes the aggregate along. */
  leave(aggregate: LiveAggregate, listener: AggregateListener): void {
    aggregate.listeners.delete(listener);
    if (aggregate.listeners.size > 0) return;
    this.#known.delete(`${groupKey(aggregate.interest)} ${aggregate.question.key}`);
    aggregate.close();
  }
}
