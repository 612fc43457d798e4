import type { AggregateOptions } from "../../api/aggregates.ts";
import type { ApiResource } from "../../api/api.ts";
import type { OrderInput } from "../../api/read_options.ts";
import type { FieldOf, IncludeOf } from "../../api/rows.ts";
import type { TagOf } from "../../api/write_options.ts";
import type { FilterText } from "../../filter/builders.ts";
import type { Filter } from "../../filter/filter.ts";

/**
 * A filter in code: of the builders, as `eq(notes.status, "open")`, of `rsql`, or a string in the
 * filter language. The user's right to filter by a field is required of each.
 */
export type CodeFilter = Filter | FilterText | string | { readonly filter: string };

/** The options of every call in code. */
export interface CodeCallOptions {
  /** Ends reads that take long. A call whose signal is aborted already rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** What of a row is wanted. */
export interface CodeRowOptions<Fields, Included> extends CodeCallOptions {
  /** These fields alone: their names, or a string as in a URL. */
  readonly select?: readonly Fields[] | string | undefined;
  /** These related rows as well: a list, or a string as in a URL. */
  readonly include?: readonly Included[] | string | undefined;
}

/** The options of a list. */
export interface CodeListOptions<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> extends CodeRowOptions<Fields, Included> {
  /** The rows that are listed; all unless set. */
  readonly filter?: CodeFilter | undefined;
  /** By the key unless set. */
  readonly orderBy?: readonly OrderInput<FieldOf<R>>[] | string | undefined;
  /** The most rows of a page. */
  readonly limit?: number | undefined;
  /** The `nextCursor` of the page before; one of HTTP is as good. */
  readonly cursor?: string | null | undefined;
  /** How many rows to skip, in the place of a cursor; 10,000 at most. */
  readonly offset?: number | undefined;
  /** Counts all matching rows, or estimates their number. */
  readonly totalCount?: boolean | "estimated" | undefined;
  /** With the rows that are marked deleted. */
  readonly withDeleted?: boolean | undefined;
}

/** The options of a read of one row. */
export interface CodeGetOptions<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
  Tag extends string = string,
> extends CodeRowOptions<Fields, Included> {
  /** A tag: while the row still has it, null is given in its place. */
  readonly ifNoneMatch?: Tag | null | undefined;
}

/** The options of a count. */
export interface CodeCountOptions extends CodeCallOptions {
  /** The rows that are counted; all unless set. */
  readonly filter?: CodeFilter | undefined;
  /** With the rows that are marked deleted. */
  readonly withDeleted?: boolean | undefined;
}

/** The options of an aggregate: those of the client, and filters of code. */
export type CodeAggregateOptions<Options extends AggregateOptions<never>> =
  & Pick<Options, "groupBy" | "count" | "sum" | "avg" | "min" | "max">
  & CodeGroupOptions;

/** The options of an aggregate that say which groups it gives. */
export interface CodeGroupOptions extends CodeCallOptions {
  /** The rows that count; all unless set. */
  readonly filter?: CodeFilter | undefined;
  /** A filter of the groups in the filter language, by their keys and by names such as `sum_price`. */
  readonly having?: string | { readonly filter: string } | undefined;
  /** Keys and metrics, `-count`. */
  readonly orderBy?: readonly string[] | string | undefined;
  /** The most groups; 1000 unless set. */
  readonly limit?: number | undefined;
}

/** The options of a search. */
export interface CodeSearchOptions extends CodeCallOptions {
  /** Words: a row has every one of them, and the last one at least as the beginning of a word. */
  readonly q: string;
  /** The rows that are searched; all unless set. */
  readonly filter?: CodeFilter | undefined;
  /** The most rows of the page; 20 unless set. */
  readonly limit?: number | undefined;
  /** How many rows to skip. */
  readonly offset?: number | undefined;
  /** With `highlights`. */
  readonly highlight?: boolean | undefined;
}

/** The options of a write of one row. */
export interface CodeWriteOptions extends CodeCallOptions {
  /** An own name of this write, which the events of live lists repeat. */
  readonly optimisticId?: string | undefined;
}

/** The options of a write that may depend on the tag of its row. */
export interface CodeConditionalOptions<R extends ApiResource> extends CodeWriteOptions {
  /** The tag of the row as it was read: if it has changed since, the write is a 412. */
  readonly ifMatch?: TagOf<R> | null | undefined;
}
