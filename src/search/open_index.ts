import { Problem } from "../problem/problem.ts";
import { deadline } from "../runtime/deadline.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { candidateRows } from "./candidate_rows.ts";
import type { Fragment } from "../sql/fragment.ts";
import { fillIndex, type FillOptions, removeGone } from "./fill_index.ts";
import type { IndexedTable } from "./index_rows.ts";
import type { IndexBackend } from "./search_adapter.ts";
import type { SearchIndex } from "./search_index.ts";
import type { SearchQuery } from "./search_query.ts";
import { SearchVersions } from "./search_versions.ts";

/** How an index is opened. */
export interface OpenIndexOptions {
  readonly index: SearchIndex;
  readonly backend: IndexBackend;
  /** Whether the rows that are there already are indexed by themselves. */
  readonly isFilledAtStart: boolean;
  readonly runtime: Runtime;
}

/**
 * An index that the app searches and writes to. From its start on it is prepared and filled in the
 * background, again and again while that fails; a search waits for that a moment, and is a 503 then.
 */
export class OpenIndex implements IndexedTable {
  readonly index: SearchIndex;
  readonly backend: IndexBackend;
  readonly versions: SearchVersions;
  readonly #runtime: Runtime;
  readonly #isFilledAtStart: boolean;
  readonly #closing = new AbortController();
  /** Both are new after each failure, which ends the waiting for the ones before. */
  #prepared = waiting();
  #filled = waiting();
  #state: "new" | "prepared" | "filled" = "new";
  #work: Promise<void> = Promise.resolve();
  #cancelRetry = () => {};
  /** Why it was not prepared or filled the last time. */
  #failure: { readonly error: unknown } | null = null;

  constructor({ index, backend, isFilledAtStart, runtime }: OpenIndexOptions) {
    this.index = index;
    this.backend = backend;
    this.versions = new SearchVersions(runtime.clock);
    this.#runtime = runtime;
    this.#isFilledAtStart = isFilledAtStart;
  }

  /** Whether the engine has what it stores the index in. */
  get isPrepared(): boolean {
    return this.#state !== "new";
  }

  /** Whether all rows are indexed that were there at the start. */
  get isFilled(): boolean {
    return this.#state === "filled";
  }

  /** Begins to prepare and to fill it. */
  start(): void {
    this.#work = this.#prepareAndFill(1);
  }

  /** Resolves once it is prepared. Rejects where the engine does not answer: no write waits for it. */
  async prepared(): Promise<void> {
    if (this.isPrepared) return;
    if (this.#failure !== null) throw this.#failure.error;
    const late = () => new Error(`The search index ${this.index.name} is not there yet`);
    await deadline(maxWaitMs, this.#runtime.clock, late).within(this.#prepared.promise);
  }

  /** Removes the documents of rows that are gone, and indexes every row again. */
  async refill(options: FillOptions): Promise<void> {
    await this.prepared();
    await this.#work;
    await removeGone(this);
    await fillIndex(this, options);
    this.#state = "filled";
    this.#filled.resolve();
  }

  /**
   * The documents that match, as a SELECT for a search plan. Rejects with a 503 where the engine
   * does not answer or the index is not filled yet, and a 422 for too many matches.
   */
  matches(query: SearchQuery, signal: AbortSignal): MaybePromise<Fragment> {
    const { local } = this.backend;
    return this.isFilled && local !== null ? local.matches(query) : this.#matches(query, signal);
  }

  /** Ends the work in the background. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("The search index is closed"));
    this.#cancelRetry();
    this.#prepared.reject(this.#closing.signal.reason);
    this.#filled.reject(this.#closing.signal.reason);
    await this.#work;
  }

  async #matches(query: SearchQuery, signal: AbortSignal): Promise<Fragment> {
    const { index: { table, driver }, backend } = this;
    if (!this.isFilled) {
      if (this.#failure !== null) {
        throw searchUnavailable("the search index does not answer", this.#failure.error);
      }
      const late = () => searchUnavailable("the rows are still being indexed");
      await deadline(maxWaitMs, this.#runtime.clock, late).within(this.#filled.promise)
        .catch((error) => {
          if (error instanceof Problem) throw error;
          throw searchUnavailable("the search index does not answer", error);
        });
    }
    if (backend.local !== null) return backend.local.matches(query);
    let keys;
    try {
      keys = await backend.find(query, maxCandidates + 1, signal);
    } catch (cause) {
      signal.throwIfAborted();
      throw searchUnavailable("the search index does not answer", cause);
    }
    if (keys.length > maxCandidates) throw tooManyMatches();
    return candidateRows(keys, table, driver.dialect);
  }

  async #prepareAndFill(attempt: number): Promise<void> {
    const { signal } = this.#closing;
    try {
      const { isFilled } = await this.backend.prepare();
      this.#state = "prepared";
      this.#failure = null;
      this.#prepared.resolve();
      if (!isFilled && this.#isFilledAtStart) await fillIndex(this, { signal });
      if (signal.aborted) return;
      this.#state = "filled";
      this.#filled.resolve();
    } catch (error) {
      if (signal.aborted) return;
      this.#fail(error);
      const retryInMs = Math.min(maxRetryMs, firstRetryMs * 2 ** (attempt - 1));
      const { clock, observe } = this.#runtime;
      observe({ kind: "search_index_unfilled", index: this.index.name, error, retryInMs });
      this.#cancelRetry = clock.after(retryInMs, () => {
        this.#work = this.#prepareAndFill(attempt + 1);
      });
    }
  }

  #fail(error: unknown): void {
    this.#failure = { error };
    this.#prepared.reject(error);
    this.#filled.reject(error);
    if (!this.isPrepared) this.#prepared = waiting();
    this.#filled = waiting();
  }
}

function waiting(): PromiseWithResolvers<void> {
  const resolvers = Promise.withResolvers<void>();
  // Without a waiting request nothing looks at it.
  resolvers.promise.catch(() => {});
  return resolvers;
}

/** How long a search waits for an index that is being filled. */
const maxWaitMs = 2_000;
const firstRetryMs = 1_000;
const maxRetryMs = 60_000;

/**
 * The most matches that an engine outside of the database gives. All of them are looked up in the
 * table before they are paged, so that totals are exact.
 */
export const maxCandidates = 100_000;

function searchUnavailable(reason: string, cause?: unknown): Problem {
  return new Problem("search-unavailable", `Cannot search now: ${reason}`, {
    cause,
    headers: { "retry-after": "2" },
  });
}

function tooManyMatches(): Problem {
  return new Problem(
    "query-too-expensive",
    `Cannot search: more than ${maxCandidates} rows have these words. Search for more words`,
    { details: { limit: maxCandidates } },
  );
}
