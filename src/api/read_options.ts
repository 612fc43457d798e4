import type { ApiResource } from "./api.ts";
import type { FieldOf, IncludeOf } from "./rows.ts";

/** The options of every request. */
export interface RequestOptions {
  /** Aborts the request. The call then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Timeout of the response, in milliseconds; the timeout of the client unless set. */
  readonly timeoutMs?: number | undefined;
}

/** A filter: a string in the filter language, or the result of `rsql`. */
export type FilterInput = string | { readonly filter: string; toString(): string };

/** A key of an order: a field, ascending unless the key says otherwise. */
export type OrderInput<Field extends string> =
  | Field
  | `-${Field}`
  | `${Field}:asc`
  | `${Field}:desc`;

/** The fields and the related rows of a row to request. */
export interface RowOptions<Fields, Included> extends RequestOptions {
  /** The fields to return; all unless set. */
  readonly select?: readonly Fields[] | undefined;
  /** The related rows to return with each row. */
  readonly include?: readonly Included[] | undefined;
}

/** The options of a list, and of a request for all pages of the list. */
export interface ListOptions<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> extends RowOptions<Fields, Included> {
  /** The rows that are listed; all unless set. */
  readonly filter?: FilterInput | undefined;
  /** The order of the rows; by the key unless set. */
  readonly orderBy?: readonly OrderInput<FieldOf<R>>[] | undefined;
  /** The maximum number of rows in a page. */
  readonly limit?: number | undefined;
  /** The `nextCursor` of the previous page. */
  readonly cursor?: string | null | undefined;
  /** The number of rows to skip, instead of a cursor; at most 10,000. */
  readonly offset?: number | undefined;
  /** Counts all matching rows, or estimates their number. */
  readonly totalCount?: boolean | "estimated" | undefined;
  /** Includes rows that are marked deleted. */
  readonly withDeleted?: boolean | undefined;
}

/** The options of a request for one row. */
export interface GetOptions<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
  Tag extends string = string,
> extends RowOptions<Fields, Included> {
  /** ETag of the caller's copy. The result is null if the stored row still has this ETag. */
  readonly ifNoneMatch?: Tag | null | undefined;
}
