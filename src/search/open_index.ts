import { type Key, keyOf } from "../plan/key.ts";
import { Problem } from "../problem/problem.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import { deadline, type Runtime } from "../runtime/runtime.ts";
import type { Fragment } from "../sql/fragment.ts";
import {
  findCandidateKeys,
  type SearchedReads,
  searchUnavailable,
  selectCandidateKeys,
} from "./find_candidate_keys.ts";
import { type IndexedTable, indexRows } from "./index_rows.ts";
import { indexedAlternatives, type IndexedComparisons, keysInSmallScope } from "./rows_in_scope.ts";
import { type IndexBackend, SearchVersions } from "./search_adapter.ts";
import { readSearchedRows, type SearchIndex } from "./search_index.ts";
import type { SearchQuery } from "./search_query.ts";
import { rowPages } from "../db/row_pages.ts";
import { fetchCount } from "../db/rows.ts";
import type { ReadPlan } from "../plan/plan.ts";

/** An index that is filled in the background. Until then, searches wait, or fail with a 503. */
export class OpenIndex implements IndexedTable {
  readonly index: SearchIndex;
  readonly backend: IndexBackend;
  readonly versions: SearchVersions;
  readonly #runtime: Runtime;
  readonly #isFilledAtStart: boolean;
  readonly #closing = new AbortController();
  /** Promises for the prepared and the filled index. After a failure, new promises replace them. */
  #prepared = waiting();
  #filled = waiting();
  #state: "new" | "prepared" | "filled" = "new";
  #work: Promise<void> = Promise.resolve();
  #cancelRetry = () => {};
  #isBuilding = false;
  #wasLost = false;
  #failure: { readonly error: unknown } | null = null;
  #failedSearchAt: number | null = null;

  constructor({ index, backend, isFilledAtStart, runtime }: {
    readonly index: SearchIndex;
    readonly backend: IndexBackend;
    readonly isFilledAtStart: boolean;
    readonly runtime: Runtime;
  }) {
    this.index = index;
    this.backend = backend;
    this.versions = new SearchVersions(runtime.clock);
    this.#runtime = runtime;
    this.#isFilledAtStart = isFilledAtStart;
    backend.onLost?.(() => this.#beginAgain());
  }

  get isPrepared(): boolean {
    return this.#state !== "new";
  }

  /** True if all rows that existed when the service started are indexed. */
  get isFilled(): boolean {
    return this.#state === "filled";
  }

  start(): void {
    this.#work = this.#prepareAndFill(1);
  }

  async prepared(): Promise<void> {
    if (this.isPrepared) return;
    if (this.#failure !== null) throw this.#failure.error;
    const late = () => new Error(`The search index ${this.index.name} is not there yet`);
    await deadline(maxWaitMs, this.#runtime.clock, late).within(this.#prepared.promise);
  }

  /** Removes documents of missing rows, indexes all rows again, and replaces a lost index. */
  async refill(options: FillOptions): Promise<void> {
    await this.prepared();
    await this.#work;
    const { isFilled } = await this.backend.prepare();
    if (!isFilled && this.#isFilledAtStart) this.#unfill("prepared");
    try {
      await removeMissingDocuments(this);
      await fillIndex(this, options);
    } catch (error) {
      if (!this.isFilled) this.#beginAgain();
      throw error;
    }
    this.#setFilled();
  }

  /** Resolves if the index is filled, still exists, and no search has failed recently. */
  async check(): Promise<void> {
    if (this.isFilled) await this.backend.check?.();
    if (!this.isFilled) throw new Error(`"${this.index.name}" is still being filled`);
    const failedAt = this.#failedSearchAt;
    if (failedAt !== null && this.#runtime.clock.now() - failedAt < failureShownMs) {
      throw new Error(`A search in "${this.index.name}" has failed just now`);
    }
  }

  /** Returns a SELECT of matching documents. Rejects with a 503 (unavailable) or 422 (too many). */
  matches(query: SearchQuery, reads: SearchedReads): MaybePromise<Fragment> {
    const { local } = this.backend;
    const choices = indexedAlternatives(reads.scope, this.index.isIndexed);
    return this.isFilled && local !== null && choices.length === 0
      ? local.matches(query, null)
      : this.#matches(query, reads, choices);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("The search index is closed"));
    this.#cancelRetry();
    this.#prepared.reject(this.#closing.signal.reason);
    this.#filled.reject(this.#closing.signal.reason);
    await this.#work;
  }

  async #matches(
    query: SearchQuery,
    reads: SearchedReads,
    choices: readonly IndexedComparisons[],
  ): Promise<Fragment> {
    const { index, backend } = this;
    await this.#waitUntilFilled();
    const few = await keysInSmallScope(choices, index, reads.connection);
    if (backend.local !== null) return backend.local.matches(query, few);
    const keys = await this.#candidates(query, reads, few);
    return selectCandidateKeys(keys, index.table, index.driver.dialect);
  }

  async #candidates(
    query: SearchQuery,
    reads: SearchedReads,
    few: Fragment | null,
  ): Promise<readonly Key[]> {
    try {
      const keys = await findCandidateKeys(this, query, reads, few);
      this.#failedSearchAt = null;
      return keys;
    } catch (error) {
      const isUnavailable = error instanceof Problem && error.slug === "search-unavailable";
      if (isUnavailable) this.#failedSearchAt = this.#runtime.clock.now();
      throw error;
    }
  }

  async #waitUntilFilled(): Promise<void> {
    if (this.isFilled) return;
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

  async #prepareAndFill(attempt: number): Promise<void> {
    const { signal } = this.#closing;
    this.#isBuilding = true;
    try {
      const { isFilled } = await this.backend.prepare();
      this.#state = "prepared";
      this.#failure = null;
      this.#prepared.resolve();
      if (!isFilled && this.#isFilledAtStart) await fillIndex(this, { signal });
      if (!isFilled && !this.#isFilledAtStart && this.#wasLost) throw new Error(lostForGood);
      if (signal.aborted) return;
      this.#setFilled();
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

  #beginAgain(): void {
    if (this.#closing.signal.aborted) return;
    this.#wasLost = true;
    if (this.isPrepared) this.#prepared = waiting();
    this.#unfill("new");
    if (!this.#isBuilding) this.#work = this.#prepareAndFill(1);
  }

  #unfill(state: "new" | "prepared"): void {
    if (this.isFilled) this.#filled = waiting();
    this.#state = state;
  }

  #setFilled(): void {
    this.#state = "filled";
    this.#failure = null;
    this.#wasLost = false;
    this.#isBuilding = false;
    this.#prepared.resolve();
    this.#filled.resolve();
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
  // Without this handler, a rejection would end the process if no request waits for the promise.
  resolvers.promise.catch(() => {});
  return resolvers;
}

/** How long a search waits until the index is filled, in milliseconds. */
const maxWaitMs = 2_000;
const firstRetryMs = 1_000;
const maxRetryMs = 60_000;
/** How long `/readyz` reports a failed search if no later search succeeds, in milliseconds. */
const failureShownMs = 5_000;

const lostForGood =
  "The engine has lost the index, which only its deployer fills: index its rows again";

interface FillOptions {
  readonly signal?: AbortSignal;
  /** Called after each page of rows. If absent, the service does not count the rows. */
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void;
}

/** Indexes all rows page by page. Concurrent writes index their own rows. Rejects when aborted. */
async function fillIndex(
  table: IndexedTable,
  { signal, onProgress }: FillOptions = {},
): Promise<void> {
  const { index: { table: info, driver, reader, undeleted }, backend } = table;
  const total = onProgress === undefined
    ? 0
    : await fetchCount(driver, { kind: "count", table: info, where: undeleted }, reader);
  const plan: ReadPlan = {
    kind: "read",
    table: info,
    columns: info.primaryKey,
    where: undeleted,
    order: info.primaryKey.map((column) => ({ column, descending: false })),
    after: null,
    limit: null,
  };
  const pages = rowPages(() => driver, plan, reader);
  for (let done = 0;;) {
    signal?.throwIfAborted();
    const { rows, isLast } = await pages.next(rowsPerPage);
    if (rows.length > 0) {
      await indexRows(table, rows.map((row) => keyOf(row, info)), { isAwaited: false });
    }
    done += rows.length;
    onProgress?.({ done, total: Math.max(total, done) });
    if (isLast) break;
  }
  await backend.markFilled();
}

async function removeMissingDocuments(table: IndexedTable): Promise<void> {
  const { index, backend } = table;
  for (let after: Key | null = null;;) {
    const keys: readonly Key[] = await backend.keys(after, rowsPerPage);
    const last = keys.at(-1);
    if (last === undefined) return;
    const rows = await readSearchedRows(index, keys, index.driver);
    const gone = rows.filter(({ texts }) => texts === null).map(({ key }) => key);
    if (gone.length > 0) await indexRows(table, gone, { isAwaited: true });
    // Some engines cannot begin a page after a removed key, so `after` is a key that still exists.
    after = keys.findLast((key) => !gone.includes(key)) ?? after;
  }
}

/** Number of rows in a page. Indexing so few rows does not noticeably delay other writes. */
const rowsPerPage = 256;
