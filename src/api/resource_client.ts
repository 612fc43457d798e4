import type { HasHandle } from "./handle.ts";
import type { AggregateOptions, GroupOf, Groups, NumericOf } from "./aggregates.ts";
import type { FilterInput, FilterOf } from "./checked_text.ts";
import type { GetOptions, ListOptions, OptionsWith, RequestOptions } from "./read_options.ts";
import type { ApiResource, FieldOf, Has, IncludeOf, Page, PathOf, RowOf, Tagged } from "./rows.ts";
import type { SearchInput, SearchResult } from "./search.ts";

/** A client of a service. Its members are the clients of the resources, by path. */
export type Client<Api extends ApiOf<Api>> =
  & { readonly [Path in keyof Api]: ResourceClient<Api[Path]> }
  & HasHandle<Api>;

/** An `Api`: a type with a member for each resource of a service. The member's name is the path. */
export type ApiOf<Api> = { readonly [Path in keyof Api]: ApiResource };

/** The requests that a client can send to one resource. */
export type ResourceClient<R extends ApiResource> =
  & ReadRequests<R>
  & OnlyWhere<Has<R, "aggregate">, AggregateRequests<R>>
  & OnlyWhere<Has<R, "search">, SearchRequests<R>>
  & OnlyWhere<Has<R, "create">, CreateRequests<R>>
  & OnlyWhere<Has<R, "update">, UpdateRequests<R>>
  & OnlyWhere<Has<R, "delete">, DeleteRequests<R>>
  & OnlyWhere<Has<R, "restore">, RestoreRequests<R>>
  & OnlyWhere<Has<R, "batch">, BatchRequests<R>>;

/** @internal `Requests` if the condition is true, or else `unknown`, which adds no members. */
export type OnlyWhere<Condition, Requests> = Condition extends true ? Requests : unknown;

/** The batch requests that a client can send to one resource. */
export type BatchRequests<R extends ApiResource, Rule = never> =
  & OnlyWhere<Has<R, "create">, CreateBatches<R, Rule>>
  & OnlyWhere<Has<R, "update">, UpdateBatches<R, Rule>>
  & ([R["create"], R["update"]] extends [never, unknown] | [unknown, never] ? unknown
    : UpsertBatches<R, Rule>)
  & OnlyWhere<Has<R, "delete">, DeleteBatches<R, Rule>>;

/** The read requests and the procedures of a resource. */
export interface ReadRequests<R extends ApiResource> extends ReadCalls<R>, HasHandle<R> {
  /** Yields all pages of the rows that match the filter. */
  readonly pages: RowsRequest<R, "pages">;
}

/** Calls that read rows, from a client or from server-side code, where a filter can be a `Rule`. */
export interface ReadCalls<R extends ApiResource, Rule = never> {
  /** Returns one page of the rows that match the filter. */
  readonly list: RowsRequest<R, "page", Rule>;
  /** Yields all rows that match the filter, which are read page by page. */
  readonly all: RowsRequest<R, "rows", Rule>;
  /** Returns one row with its ETag, or null if the row's ETag still equals `ifNoneMatch`. */
  get<
    Fields extends PathOf<R> = FieldOf<R>,
    Included extends IncludeOf<R> = never,
    Tag extends string = never,
  >(
    key: R["key"],
    options?: OptionsWith<Rule, GetOptions<R, Fields, Included, Tag>>,
  ): Promise<Tagged<RowOf<R, Fields, Included> | ([Tag] extends [never] ? never : null)>>;
  /** Returns the number of rows that match the filter. */
  count<const Filter extends FilterInput = FilterInput>(
    options?: OptionsWith<
      Rule,
      Pick<ListOptions<R, never, never, Filter>, "filter" | "withDeleted" | keyof RequestOptions>
    >,
  ): Promise<number>;
  /** The procedures of the resource as functions, by the names of the procedures. */
  readonly rpc: ProceduresOf<R["procedures"], OptionsWith<Rule, WriteRequestOptions>>;
}

/** A request for one page, all pages or all rows. The options determine the type of the rows. */
export type RowsRequest<R extends ApiResource, Result extends string, Rule = never> = <
  Fields extends PathOf<R> = FieldOf<R>,
  Included extends IncludeOf<R> = never,
  const Filter extends FilterInput = FilterInput,
>(
  options?: OptionsWith<Rule, ListOptions<R, Fields, Included, Filter>>,
) => Result extends "page" ? Promise<Page<RowOf<R, Fields, Included>>>
  : Result extends "rows" ? AsyncGenerator<RowOf<R, Fields, Included>, void, void>
  : AsyncGenerator<Page<RowOf<R, Fields, Included>>, void, void>;

/** The procedures of a resource as functions. */
export type ProceduresOf<Procedures, Options = WriteRequestOptions> = {
  readonly [Name in keyof Procedures]: ProcedureOf<Procedures[Name], Options>;
};

/** @internal A procedure of a resource as a function. */
type ProcedureOf<Procedure, Options> = Procedure extends
  { input: infer Input; output: infer Output }
  ? (input: Input, options?: Options) => Promise<Output>
  : never;

/** The requests that compute metrics of many rows. */
export interface AggregateRequests<R extends ApiResource, Rule = never> {
  /** Groups the rows that match the filter, and returns the metrics of each group. */
  aggregate<
    Key extends FieldOf<R> = never,
    Count extends boolean = never,
    Sum extends NumericOf<R> = never,
    Avg extends NumericOf<R> = never,
    Min extends FieldOf<R> = never,
    Max extends FieldOf<R> = never,
    const Filter extends FilterInput = FilterInput,
  >(
    options?: OptionsWith<
      Rule,
      AggregateOptions<R, Key, Count, Sum, Avg, Min, Max, Filter> & RequestOptions
    >,
  ): Promise<Groups<GroupOf<R, Key, Count, Sum, Avg, Min, Max>>>;
}

/** The requests that search for words. */
export interface SearchRequests<R extends ApiResource, Rule = never> {
  /** Returns the rows that contain the words, the best match first. */
  search<const Filter extends FilterInput = FilterInput>(
    options: OptionsWith<Rule, SearchInput<FilterOf<R, Filter>>>,
  ): Promise<SearchResult<R["row"]>>;
}

/** The requests that create rows. */
export interface CreateRequests<R extends ApiResource, Options = RowWriteOptions> {
  /** Creates a row. With the option `on`, changes the row that has the same unique key, if any. */
  create(body: R["create"], options?: Options & UniqueKeyOption<R>): Promise<Tagged<R["row"]>>;
}

/** The requests that change rows. */
export interface UpdateRequests<
  R extends ApiResource,
  Options = ConditionalOptions<R>,
  UpdateOptions = UpdateOptionsOf<R>,
> {
  /** Changes the fields that the patch contains. */
  update(key: R["key"], patch: R["update"], options?: UpdateOptions): Promise<Tagged<R["row"]>>;
  /** Replaces a row. Fields that the body omits get their defaults. */
  replace(key: R["key"], body: ReplaceBody<R>, options?: Options): Promise<Tagged<R["row"]>>;
}

/** The requests that delete rows. */
export interface DeleteRequests<R extends ApiResource, Options = ConditionalOptions<R>> {
  /** Deletes a row, or marks it as deleted if the resource uses soft deletion. */
  delete(key: R["key"], options?: Options): Promise<void>;
}

/** The requests that restore rows that are marked as deleted. */
export interface RestoreRequests<R extends ApiResource, Options = ConditionalOptions<R>> {
  /** Restores a row that is marked as deleted. */
  restore(key: R["key"], options?: Options): Promise<Tagged<R["row"]>>;
}

/** A version in a row's history, as the caller is allowed to see it. */
export interface RowVersion<Row> {
  /** The id of the version, for `revertRow`. Null for a deletion. */
  readonly version: string | null;
  /** The time of the write, as an ISO 8601 string. Null if the time is unknown. */
  readonly at: string | null;
  /** The id of the user who made the write. */
  readonly user: string | null;
  /** The name of the operation, or null for writes outside of the service's operations. */
  readonly operation: string | null;
  /** The row after the write. Null for a deletion. */
  readonly row: Row | null;
}

/** The batches that create rows. */
export interface CreateBatches<R extends ApiResource, Rule = never> {
  /** Creates all of these rows, or none of them. */
  createBatch(
    items: readonly BatchItem<R["create"]>[],
    options?: OptionsWith<Rule, WriteRequestOptions>,
  ): Promise<R["row"][]>;
  /** Creates rows in successive batches. If one fails, the rows of earlier batches remain. */
  import(
    rows: Iterable<R["create"]> | AsyncIterable<R["create"]>,
    options?: ImportOptionsOf & UniqueKeyOption<R>,
  ): Promise<number>;
}

/** The batches that change rows. */
export interface UpdateBatches<R extends ApiResource, Rule = never> {
  /** Changes every row that matches the filter. Returns the number of changed rows. */
  updateBatch<const Filter extends FilterInput = FilterInput>(
    filter: FilterOf<R, Filter> | Rule,
    patch: R["update"],
    options?: OptionsWith<Rule, WriteRequestOptions>,
  ): Promise<number>;
  /** Replaces all the rows whose keys are in these bodies, or none of them. */
  replaceBatch(
    items: readonly ConditionalItem<ReplaceBody<R>>[],
    options?: OptionsWith<Rule, WriteRequestOptions>,
  ): Promise<R["row"][]>;
}

/** The batches that create or change rows. */
export interface UpsertBatches<R extends ApiResource, Rule = never> {
  /** For each body, changes the row with its primary key (or unique key `on`), or creates a row. */
  upsertBatch(
    items: readonly ConditionalItem<R["create"]>[],
    options?: OptionsWith<Rule, WriteRequestOptions> & UniqueKeyOption<R>,
  ): Promise<R["row"][]>;
}

/** The batches that delete rows. */
export interface DeleteBatches<R extends ApiResource, Rule = never> {
  /** Deletes every row that matches the filter. Returns the number of deleted rows. */
  deleteBatch<const Filter extends FilterInput = FilterInput>(
    filter: FilterOf<R, Filter> | Rule,
    options?: OptionsWith<Rule, WriteRequestOptions>,
  ): Promise<number>;
}

/** The options of every write. */
export interface WriteRequestOptions extends RequestOptions {
  /** The idempotency key of the request. Repeated requests with this key are executed only once. */
  readonly idempotencyKey?: string | undefined;
}

/** The options of a write of one row. */
export interface RowWriteOptions extends WriteRequestOptions {
  /** An id of this write, chosen by the client. The write's events in live lists contain it. */
  readonly optimisticId?: string | undefined;
}

/** The options of a write that can depend on the row's ETag. */
export interface ConditionalOptions<R extends ApiResource> extends RowWriteOptions {
  /** The ETag that the client has read. If the row has changed since, throws a ConflictError. */
  readonly ifMatch?: TagOf<R> | null | undefined;
}

/** The option of a write that creates a row, or changes a stored row with the same unique key. */
export interface UniqueKeyOption<R extends ApiResource> {
  /** The field or fields of the unique key. For a partial index: `"email(deletedAt==null)"`. */
  readonly on?:
    | (keyof R["row"] & string)
    | readonly (keyof R["row"] & string)[]
    | `${string}(${string})`
    | undefined;
}

/** The type of `ifMatch`: a string, or `never` if the resource has no ETags. */
export type TagOf<R extends ApiResource> = R["etag"] extends false ? never : string;

/** The options of an update. */
export interface UpdateOptionsOf<R extends ApiResource> extends ConditionalOptions<R> {
  /** The row on which the patch is based. `onConflict` receives it. */
  readonly base?: Partial<R["row"]> | null | undefined;
  /** Returns a patch for the changed row, at most five times; null to throw the ConflictError. */
  readonly onConflict?:
    | ((conflict: Conflict<R>) => R["update"] | null | Promise<R["update"] | null>)
    | undefined;
}

/** A patch that the service rejected because the row has changed. */
export interface Conflict<R extends ApiResource> {
  /** The row on which the patch is based, or null if the caller has not passed `base`. */
  readonly base: Partial<R["row"]> | null;
  /** The rejected patch. */
  readonly mine: R["update"];
  /** The current row. */
  readonly theirs: R["row"];
}

/** The options of an import. */
export interface ImportOptionsOf extends RequestOptions {
  /** True to change a stored row with the same primary key (or unique key `on`). Default: false. */
  readonly upsert?: boolean | undefined;
  /** The number of rows in one request. Default: 100, or the service's limit if that is lower. */
  readonly size?: number | undefined;
  /** Called with the number of rows written so far, after each request. */
  readonly onProgress?: ((count: number) => void) | undefined;
  /** The idempotency key of the import. A repeated import with this key writes no row twice. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * The body that replaces a row: the fields of a new row, with the related rows as in an update.
 * Fields that no update may change are optional.
 */
export type ReplaceBody<
  R extends ApiResource,
  Relations = string extends keyof R["relations"] ? never : keyof R["relations"] & string,
> = [R["create"]] extends [never] ? R["update"] & Partial<R["row"]>
  :
    & Pick<R["create"], Exclude<keyof R["create"] & keyof R["update"], Relations>>
    & Partial<Omit<R["create"], Relations & string>>
    & Pick<R["update"], keyof R["update"] & Relations>;

/** An item of a batch, which can contain its own `optimisticId`. */
export type BatchItem<Body> = Body & { readonly _optimisticId?: string };

/** An item of a batch that changes rows, which can contain its own `ifMatch`. */
export type ConditionalItem<Body> = BatchItem<Body> & { readonly _ifMatch?: string };
