import type { StreamContext } from "../stream_context.ts";
import {
  commentText,
  invalidateText,
  type InvalidationReason,
} from "../dispatch/server_sent_events.ts";
import type { LiveQuery } from "../dispatch/subscriber_group.ts";
import type { AggregateListener, LiveAggregate } from "./live_aggregate.ts";
import type { LiveAggregateQuery } from "./live_aggregate_query.ts";
import { LiveStream } from "../stream/live_stream.ts";

/**
 * A stream of groups. Each event is the whole answer: whoever reads slowly is told the latest one
 * when it has room again, and whoever comes back begins with it, so that there are no positions.
 */
export class AggregateStream extends LiveStream implements AggregateListener {
  #aggregate: LiveAggregate;
  /** The answer that was sent last. */
  #sent: Uint8Array | null = null;

  /** `ended` is called once, whoever ends it. */
  constructor(
    channel: StreamContext,
    query: LiveQuery,
    aggregateQuery: LiveAggregateQuery,
    ended: (stream: LiveStream) => void,
  ) {
    super(channel, ended);
    this.#aggregate = channel.aggregates.enter(channel, query, aggregateQuery, this);
  }

  override get query(): LiveQuery {
    return this.#aggregate.query;
  }

  override get isLive(): boolean {
    return false;
  }

  override pull(): undefined {
    this.show();
  }

  override heartbeat(): void {
    if (this.hasRoom()) this.send(commentText);
  }

  override tokenAt(): string {
    return "";
  }

  override switchQuery(query: LiveQuery, reason: InvalidationReason): void {
    if (this.isClosed) return;
    const { channel } = this;
    const { aggregateQuery } = this.#aggregate;
    channel.aggregates.leave(this.#aggregate, this);
    this.#aggregate = channel.aggregates.enter(channel, query, aggregateQuery, this);
    this.#sent = null;
    this.send(invalidateText(reason));
    this.show();
  }

  show(): void {
    const { frame } = this.#aggregate;
    if (frame === null || frame === this.#sent || !this.hasRoom()) return;
    this.#sent = frame;
    this.enqueue(frame);
  }

  protected override release(): void {
    this.channel.aggregates.leave(this.#aggregate, this);
  }
}
