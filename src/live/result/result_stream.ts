import { invalidateText, type InvalidationReason } from "../dispatch/server_sent_events.ts";
import { type LiveQuery, liveQueryKey, noRowsShown } from "../live_view.ts";
import { LiveStream } from "../stream/live_stream.ts";
import type { StreamContext } from "../stream_context.ts";
import type { ResultListener, SharedResult, SharedResultOptions } from "./shared_result.ts";

export interface ResultQuery {
  readonly key: string;
  readonly sent: unknown;
  create(options: SharedResultOptions): SharedResult;
}

interface ResultStreamOptions {
  readonly results: Map<string, SharedResult>;
  readonly query: LiveQuery;
  readonly identity: string;
  readonly resultQuery: ResultQuery;
}

/** A stream that shows a shared result to one client. A slow client skips to the latest result. */
export class ResultStream extends LiveStream implements ResultListener {
  readonly #options: ResultStreamOptions;
  #result: SharedResult;
  #sent: unknown;

  constructor(
    context: StreamContext,
    options: ResultStreamOptions,
    ended: (stream: LiveStream) => void,
  ) {
    super(context, ended);
    this.#options = options;
    this.#sent = options.resultQuery.sent;
    this.#result = this.#enter(options.query);
  }

  get identity(): string {
    return this.#options.identity;
  }

  override get query(): LiveQuery {
    return this.#result.query;
  }

  override get isLive(): boolean {
    return this.query.view !== noRowsShown && this.#result.frameAfter(this.#sent) === null;
  }

  override pull(): undefined {
    this.show();
  }

  override switchQuery(query: LiveQuery, reason: InvalidationReason): void {
    if (this.isClosed) return;
    this.release();
    this.#result = this.#enter(query);
    this.#sent = null;
    this.send(invalidateText(reason));
    this.show();
  }

  override invalidate(reason: InvalidationReason): void {
    this.#result.invalidate(reason);
  }

  show(): void {
    const frame = this.hasRoom() ? this.#result.frameAfter(this.#sent) : null;
    if (frame === null) return;
    this.#sent = frame[1];
    this.enqueue(frame[0]);
  }

  protected override release(): void {
    if (!this.#result.remove(this)) this.#options.results.delete(this.#keyOf(this.query));
  }

  #enter(query: LiveQuery): SharedResult {
    const { results, resultQuery } = this.#options;
    const key = this.#keyOf(query);
    const known = results.get(key);
    known?.add(this);
    const result = known ?? resultQuery.create({ query, listener: this });
    results.set(key, result);
    return result;
  }

  #keyOf(query: LiveQuery): string {
    return `${liveQueryKey(query)} ${this.#options.resultQuery.key}`;
  }
}
