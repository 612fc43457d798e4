import type { FilterInput, FilterOf, IncludeItemOf } from "./checked_text.ts";
import type { ApiResource, FieldOf, IncludeOf, PathOf } from "./rows.ts";

/** The options of every request. */
export interface RequestOptions {
  /** The signal that aborts the request. The promise then rejects with the signal's `reason`. */
  readonly signal?: AbortSignal | undefined;
  /** Timeout of the response, in milliseconds. Default: the timeout of the client. */
  readonly timeoutMs?: number | undefined;
}

/**
 * The options of a call. If `Rule` is not `never`, server-side code makes the call: `filter` can be
 * a rule, names can be one string as in a URL, and `timeoutMs` and `idempotencyKey` are missing.
 */
export type OptionsWith<Rule, Options> = [Rule] extends [never] ? Options : {
  readonly [Name in keyof Options as Exclude<Name, "timeoutMs" | "idempotencyKey">]:
    | Options[Name]
    | (Name extends "filter" ? Rule
      : Name extends "select" | "include" | "orderBy" ? string
      : never);
};

/** A list of names. The compiler shows the name of this type in its error for a single string. */
export interface ListNotString<Item> extends ReadonlyArray<Item> {}

/** One sort key: a field and its direction. Default: ascending. */
export type OrderInput<Field extends string> =
  | Field
  | `-${Field}`
  | `${Field}:asc`
  | `${Field}:desc`;

/** The fields that can order rows, including fields of related rows and paths into documents. */
export type OrderFieldOf<R extends ApiResource> =
  | PathOf<R>
  | `${keyof R["relations"] & string}.${string}`;

/** The selected fields of a row, and its related rows. */
export interface FieldsQuery<R extends ApiResource, Fields, Included> {
  /** The fields to return. Default: all fields. */
  readonly select?: ListNotString<Fields> | undefined;
  /** The related rows to return with each row. */
  readonly include?: ListNotString<IncludeItemOf<R, Included>> | undefined;
}

/** The rows and their fields: the options that lists, live lists and collections have in common. */
export interface RowsQuery<R extends ApiResource, Fields, Included, Filter extends FilterInput>
  extends FieldsQuery<R, Fields, Included> {
  /** The filter of the rows. Default: all rows. */
  readonly filter?: FilterOf<R, Filter> | undefined;
}

/** Options that select fields of a row and add related rows. */
export interface RowOptions<R extends ApiResource, Fields, Included>
  extends FieldsQuery<R, Fields, Included>, RequestOptions {}

/** The options of a list, for one page or for all pages. */
export interface ListOptions<
  R extends ApiResource,
  Fields extends PathOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
  Filter extends FilterInput = FilterInput,
> extends RowsQuery<R, Fields, Included, Filter>, RequestOptions {
  /** The order of the rows. Default: by the primary key. */
  readonly orderBy?: ListNotString<OrderInput<OrderFieldOf<R>>> | undefined;
  /** The maximum number of rows in one page. */
  readonly limit?: number | undefined;
  /** The `nextCursor` of the previous page. */
  readonly cursor?: string | null | undefined;
  /** The number of rows to skip, at most 10,000. Cannot be combined with `cursor`. */
  readonly offset?: number | undefined;
  /** True to count all matching rows, `estimated` to estimate their number. Default: neither. */
  readonly totalCount?: boolean | "estimated" | undefined;
  /** True to include rows that are marked as deleted. */
  readonly withDeleted?: boolean | undefined;
}

/** The options of a request for one row. */
export interface GetOptions<
  R extends ApiResource,
  Fields extends PathOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
  Tag extends string = string,
> extends RowOptions<R, Fields, Included> {
  /** The ETag of the caller's copy. The result is null if the stored row still has this ETag. */
  readonly ifNoneMatch?: Tag | null | undefined;
}
