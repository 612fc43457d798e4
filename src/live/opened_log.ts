import type { ChangeLog } from "../db/changes/change_log.ts";
import type { ChangeFeed } from "./feed/change_feed.ts";
import {
  openStreamContext,
  type StreamContext,
  type StreamContextOptions,
} from "./stream_context.ts";

export interface OpenedLogOptions extends StreamContextOptions {
  /** Opens the change log of the database. Called again after a failure. */
  openLog(): Promise<ChangeLog>;
}

/** Opens the change log and the shared context of streams on demand, again after failures. */
export class OpenedLog {
  readonly #options: OpenedLogOptions;
  #log: Promise<ChangeLog> | null = null;
  #context: Promise<StreamContext> | null = null;
  #feed: ChangeFeed | null = null;

  constructor(options: OpenedLogOptions) {
    this.#options = options;
  }

  get published(): number {
    return this.#feed?.published ?? 0;
  }

  log(): Promise<ChangeLog> {
    return this.#log ??= this.#options.openLog().catch((error) => {
      this.#log = null;
      throw error;
    });
  }

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

  /** Returns the context, or null if no stream has needed it yet. */
  present(): Promise<StreamContext | null> {
    return this.#context ?? Promise.resolve(null);
  }

  async close(): Promise<void> {
    const [context, log] = await Promise.allSettled([this.#context, this.#log]);
    if (context.status === "fulfilled") context.value?.feed.close();
    if (log.status === "fulfilled") await log.value?.close();
  }
}
