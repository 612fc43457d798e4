import type { ApiResource } from "./api.ts";
import type { FieldOf, IncludeOf } from "./rows.ts";

/** The options of every request. */
export interface RequestOptions {
  /** Ends the request, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** How long the answer may take, in the place of what the client says. */
  readonly timeoutMs?: number | undefined;
}

/** A filter: a string in the filter language, or the result of `rsql`. */
export type FilterInput = string | { readonly filter: string; toString(): string };

/** A key of an order: a field, upwards unless it says otherwise. */
export type OrderInput<Field extends string> =
  | Field
  | `-${Field}`
  | `${Field}:asc`
  | `${Field}:desc`;

/** What of a row is requested. */
export interface RowOptions<Fields, Included> extends RequestOptions {
  /** These fields alone. */
  readonly select?: readonly Fields[] | undefined;
  /** These related rows as well. */
  readonly include?: readonly Included[] | undefined;
}

/** The options of a list; those of all its pages at once. */
export interface ListOptions<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
> extends RowOptions<Fields, Included> {
  /** The rows that are listed; all unless set. */
  readonly filter?: FilterInput | undefined;
  /** By the key unless set. */
  readonly orderBy?: readonly OrderInput<FieldOf<R>>[] | undefined;
  /** The most rows of a page. */
  readonly limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  readonly cursor?: string | null | undefined;
  /** How many rows to skip, in the place of a cursor; 10,000 at most. */
  readonly offset?: number | undefined;
  /** Counts all matching rows, or estimates their number. */
  readonly totalCount?: boolean | "estimated" | undefined;
  /** With the rows that are marked deleted. */
  readonly withDeleted?: boolean | undefined;
}

/** The options of a request for one row. */
export interface GetOptions<
  R extends ApiResource,
  Fields extends FieldOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = IncludeOf<R>,
  Tag extends string = string,
> extends RowOptions<Fields, Included> {
  /** A tag: while the row still has it, the answer has null in its place. */
  readonly ifNoneMatch?: Tag | null | undefined;
}
