import { type LiveQuery, liveQueryKey } from "../live_view.ts";
import type { StreamContext } from "../stream_context.ts";
import type { GroupMemory } from "./group_memory.ts";
import { type AggregateListener, LiveAggregate } from "./live_aggregate.ts";
import type { LiveAggregateQuery } from "./incremental_aggregate.ts";
import {
  commentText,
  invalidateText,
  type InvalidationReason,
} from "../dispatch/server_sent_events.ts";
import { LiveStream } from "../stream/live_stream.ts";

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

export interface AggregateStreamOptions {
  readonly aggregates: SharedAggregates;
  readonly query: LiveQuery;
  readonly aggregateQuery: LiveAggregateQuery;
  readonly identity: string;
}

/**
 * A live stream that sends the groups and metrics of one aggregate to one client. Each event
 * contains the complete result, so a slow client skips to the latest result. A client that
 * reconnects starts with the latest result and needs no resume token.
 */
export class AggregateStream extends LiveStream implements AggregateListener {
  readonly identity: string;
  readonly #aggregates: SharedAggregates;
  #aggregate: LiveAggregate;
  #sent: Uint8Array | null = null;

  constructor(
    context: StreamContext,
    { aggregates, query, aggregateQuery, identity }: AggregateStreamOptions,
    ended: (stream: LiveStream) => void,
  ) {
    super(context, ended);
    this.identity = identity;
    this.#aggregates = aggregates;
    this.#aggregate = aggregates.enter(query, aggregateQuery, this);
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
    const { aggregateQuery } = this.#aggregate;
    this.#aggregates.leave(this.#aggregate, this);
    this.#aggregate = this.#aggregates.enter(query, aggregateQuery, this);
    this.#sent = null;
    this.send(invalidateText(reason));
    this.show();
  }

  override invalidate(reason: InvalidationReason): void {
    this.#aggregate.invalidate(reason);
  }

  show(): void {
    const { frame } = this.#aggregate;
    if (frame === null || frame === this.#sent || !this.hasRoom()) return;
    this.#sent = frame;
    this.enqueue(frame);
  }

  protected override release(): void {
    this.#aggregates.leave(this.#aggregate, this);
  }
}
