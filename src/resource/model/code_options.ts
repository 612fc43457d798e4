import type { AggregateOptions } from "../../api/aggregates.ts";
import type { ApiResource } from "../../api/api.ts";
import type { ListOptions, OrderFieldOf, OrderInput } from "../../api/read_options.ts";
import type { FieldOf, IncludeOf } from "../../api/rows.ts";
import type { SearchInput } from "../../api/search.ts";
import type { TagOf } from "../../api/write_options.ts";
import type { Rule } from "../../filter/rule.ts";

/**
 * A filter in code: a rule from a builder, such as `eq(notes.status, "open")`, from `rsql` or from
 * a policy, or a string in the filter language. The user must be allowed to filter by each field.
 */
export type CodeFilter = Rule | string | { readonly filter: string };

/** The options of every call in code. */
export interface CodeCallOptions {
  /** Aborts slow reads. If the signal is already aborted, the call rejects with its `reason`. */
  readonly signal?: AbortSignal | undefined;
}

/** The fields and the related rows to request for a row. */
export interface CodeRowOptions<Fields, Included> extends CodeCallOptions {
  /** The fields to return: a list, or a string as in a URL. Default: all. */
  readonly select?: readonly Fields[] | string | undefined;
  /** The related rows to return with each row: a list, or a string as in a URL. */
  readonly include?: readonly Included[] | string | undefined;
}

/** The options of a list. */
export interface CodeListOptions<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> extends
  CodeRowOptions<Fields, Included>,
  Pick<
    ListOptions<R, Fields, Included>,
    "limit" | "cursor" | "offset" | "totalCount" | "withDeleted"
  > {
  /** The filter of the listed rows. Default: all rows. */
  readonly filter?: CodeFilter | undefined;
  /** The order of the rows. Default: by the key. */
  readonly orderBy?: readonly OrderInput<OrderFieldOf<R>>[] | string | undefined;
}

/** The options of a read of one row. */
export interface CodeGetOptions<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
  Tag extends string = string,
> extends CodeRowOptions<Fields, Included> {
  /** ETag of the caller's copy. The result is null if the stored row still has this ETag. */
  readonly ifNoneMatch?: Tag | null | undefined;
}

/** The options of a count. */
export interface CodeCountOptions extends CodeCallOptions {
  /** The filter of the counted rows. Default: all rows. */
  readonly filter?: CodeFilter | undefined;
  /** True to include rows that are marked as deleted. Default: false. */
  readonly withDeleted?: boolean | undefined;
}

/** The options of an aggregate, with the filters that calls by server-side code accept. */
export type CodeAggregateOptions<Options extends AggregateOptions<never>> =
  & Pick<Options, "groupBy" | "count" | "sum" | "avg" | "min" | "max">
  & CodeGroupOptions;

/** The options of an aggregate that determine its groups. */
export interface CodeGroupOptions extends CodeCallOptions {
  /** The filter of the aggregated rows. Default: all rows. */
  readonly filter?: CodeFilter | undefined;
  /** A filter of the groups in the filter language, by group keys and metrics like `sum_price`. */
  readonly having?: string | { readonly filter: string } | undefined;
  /** Keys and metrics to order by, such as `-count`. */
  readonly orderBy?: readonly string[] | string | undefined;
  /** The maximum number of groups. Default: 1,000. */
  readonly limit?: number | undefined;
}

/** The options of a search. */
export interface CodeSearchOptions
  extends CodeCallOptions, Pick<SearchInput, "q" | "limit" | "offset" | "highlight"> {
  /** The filter of the searched rows. Default: all rows. */
  readonly filter?: CodeFilter | undefined;
}

/** The options of a write of one row. */
export interface CodeWriteOptions extends CodeCallOptions {
  /** An id of this write, chosen by the caller. The write's events in live lists contain it. */
  readonly optimisticId?: string | undefined;
}

/** The options of a write that can depend on the row's ETag. */
export interface CodeConditionalOptions<R extends ApiResource> extends CodeWriteOptions {
  /** The row's ETag when it was read. The write fails with 412 if the row has changed since. */
  readonly ifMatch?: TagOf<R> | null | undefined;
}
