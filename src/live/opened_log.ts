import type { ChangeLog } from "../db/changes/change_log.ts";
import type { ChangeFeed } from "./feed/change_feed.ts";
import {
  openStreamContext,
  type StreamContext,
  type StreamContextOptions,
} from "./stream_context.ts";

/** What the log of a hub is opened with. */
export interface OpenedLogOptions extends StreamContextOptions {
  /** Opens the log of the database. Called again where it has failed. */
  openLog(): Promise<ChangeLog>;
}

/**
 * The change log of a hub, and the context that its streams share: each is opened once, when it is
 * first needed, and again where that has failed.
 */
export class OpenedLog {
  readonly #options: OpenedLogOptions;
  #log: Promise<ChangeLog> | null = null;
  #context: Promise<StreamContext> | null = null;
  /** That of the context, once it is open. */
  #feed: ChangeFeed | null = null;

  /** Opens nothing yet. */
  constructor(options: OpenedLogOptions) {
    this.#options = options;
  }

  /** How many changes were published to streams; 0 before the first one. */
  get published(): number {
    return this.#feed?.published ?? 0;
  }

  /** The log, from which on changes are recorded. */
  log(): Promise<ChangeLog> {
    return this.#log ??= this.#options.openLog().catch((error) => {
      this.#log = null;
      throw error;
    });
  }

  /** The context, for a stream that begins. */
  context(): Promise<StreamContext> {
    return this.#context ??= this.log().then((log) => openStreamContext(log, this.#options))
      .then((context) => {
        this.#feed = context.feed;
        return context;
      }, (error) => {
        this.#context = null;
        throw error;
      });
  }

  /** The context as far as it was asked for; null if no stream has begun yet. */
  present(): Promise<StreamContext | null> {
    return this.#context ?? Promise.resolve(null);
  }

  /** Closes what is open. */
  async close(): Promise<void> {
    const [context, log] = await Promise.allSettled([this.#context, this.#log]);
    if (context.status === "fulfilled") context.value?.feed.close();
    if (log.status === "fulfilled") await log.value?.close();
  }
}
