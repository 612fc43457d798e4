import type { AggregateOptions, GroupOf, Groups } from "../../api/aggregates.ts";
import type {
  BatchItem,
  ConditionalItem,
  CreateRequests,
  DeleteRequests,
  IsWritten,
  OnlyWhere,
  ProceduresOf,
  ReplaceBody,
  RestoreRequests,
  SearchRequests,
  TagOf,
  UniqueKeyOption,
  UpdateRequests,
} from "../../api/resource_client.ts";
import type {
  ApiResource,
  FieldOf,
  Has,
  IncludeOf,
  Page,
  PathOf,
  RowOf,
  Tagged,
} from "../../api/rows.ts";
import type { ServedRow, TableLike } from "../../schema/table_like.ts";
import type { DatabaseHandle } from "../../db/database_handle.ts";
import type { ListOptions, OrderFieldOf, OrderInput } from "../../api/read_options.ts";
import type { SearchInput } from "../../api/search.ts";
import type { Rule } from "../../filter/rule.ts";

/**
 * The operations of an app as functions, for one user or for the system. They correspond to the
 * HTTP API, but need no requests and no JSON. Each resource is a member named by its path below the
 * base path.
 */
export type CodeApi<Api> =
  & { readonly [Path in keyof Api]: Api[Path] extends ApiResource ? CodeCalls<Api[Path]> : never }
  & CodeApiFunctions<Api>;

/** The functions of an API in code. `of` also finds a resource with the name of a function. */
export interface CodeApiFunctions<Api> {
  /**
   * Returns the operations of the first resource that serves a table, with the types of the table.
   * Hooks need this function, because their code does not know the types of the configuration.
   * Throws a plain Error if no resource serves the table.
   */
  of<S, I>(table: TableLike<S, I>): CodeCalls<TableApiResource<S, I>>;
  /** Returns the operations of the resource at a path below the base path. */
  of(path: string): CodeCalls<AnyApiResource>;
  /**
   * Returns the API for the system, which can use all rows, all fields, and even the operations
   * that `capabilities` disables. Hooks run, values are checked, and the limits of batches apply.
   */
  asSystem(): CodeApi<Api>;
  /**
   * Runs `work` in one transaction: it is committed when `work` resolves, and rolled back when
   * `work` throws. Calls of `tx.api` are part of the transaction. If one call rejects, only that
   * call is rolled back. After a serialization failure or a deadlock, `work` runs again, up to
   * three times. Calls to resources of another database do not belong to the transaction. If the
   * API belongs to an open transaction, as in after-hooks, `work` runs as a part of that
   * transaction.
   */
  transaction<T>(work: (tx: CodeTransaction<Api>) => Promise<T>): Promise<T>;
}

/** An open transaction in which server-side code calls operations. */
export interface CodeTransaction<Api> {
  /** The API of {@link CodeApi}, within the transaction. */
  readonly api: CodeApi<Api>;
  /** The handle of the transaction, with which code can run statements. */
  readonly db: DatabaseHandle;
}

/** The resources of an app, if the types of the resources are not known. */
export interface AnyApi {
  /** Any resource. */
  readonly [path: string]: AnyApiResource;
}

/** A resource whose types are not known. */
export interface AnyApiResource extends AnyApiRelations {
  /** Any value. */
  readonly key: unknown;
  /** Any fields. */
  readonly row: Record<string, unknown>;
  /** Any fields. */
  readonly create: Readonly<Record<string, unknown>>;
  /** Any fields. */
  readonly update: Readonly<Record<string, unknown>>;
}

/** A resource whose relations and procedures are not known. */
export interface AnyApiRelations extends ApiResource {
  /** Any relations. */
  readonly relations: Record<string, Record<string, unknown>>;
  /** Any procedures. */
  readonly procedures: { readonly [name: string]: { input: unknown; output: unknown } };
}

/** A resource whose types follow from its table. */
export interface TableApiResource<S, I> extends AnyApiRelations {
  /** Any value. */
  readonly key: unknown;
  /** A row of the table. A caller receives only the readable fields. */
  readonly row: ServedRow<S> & object;
  /** A new row of the table. Hooks and the service can add fields. */
  readonly create: Partial<ServedRow<I>>;
  /** The fields that change. */
  readonly update: Partial<ServedRow<I>>;
}

/** The operations that a resource offers. */
export type CodeCalls<R extends ApiResource> =
  & CodeReads<R>
  & OnlyWhere<Has<R, "aggregate">, CodeAggregates<R>>
  & OnlyWhere<Has<R, "search">, SearchRequests<R, CodeSearchOptions>>
  & OnlyWhere<IsWritten<R["create"]>, CreateRequests<R, CodeConditionalOptions<R>>>
  & OnlyWhere<
    IsWritten<R["update"]>,
    UpdateRequests<R, CodeConditionalOptions<R>, CodeConditionalOptions<R>>
  >
  & OnlyWhere<Has<R, "delete">, DeleteRequests<R, CodeConditionalOptions<R>>>
  & OnlyWhere<Has<R, "restore">, RestoreRequests<R, CodeConditionalOptions<R>>>
  & OnlyWhere<Has<R, "batch">, { readonly batch: CodeBatches<R> }>;

/** The operations that read rows, and the procedures. */
export interface CodeReads<R extends ApiResource> {
  /** Returns a page of the rows that match the filter. */
  list<Fields extends PathOf<R> = FieldOf<R>, Included extends IncludeOf<R> = never>(
    options?: CodeListOptions<R, Fields, Included>,
  ): Promise<Page<RowOf<R, Fields, Included>>>;
  /** Yields all rows that match the filter, and reads them page by page. */
  all<Fields extends PathOf<R> = FieldOf<R>, Included extends IncludeOf<R> = never>(
    options?: CodeListOptions<R, Fields, Included>,
  ): AsyncGenerator<RowOf<R, Fields, Included>, void, void>;
  /** Returns one row with its ETag, or null if the ETag still equals `ifNoneMatch`. */
  get<
    Fields extends PathOf<R> = FieldOf<R>,
    Included extends IncludeOf<R> = never,
    Tag extends string = never,
  >(
    key: R["key"],
    options?: CodeGetOptions<R, Fields, Included, Tag>,
  ): Promise<Tagged<RowOf<R, Fields, Included> | ([Tag] extends [never] ? never : null)>>;
  /** Returns the number of rows that match the filter. */
  count(options?: CodeCountOptions): Promise<number>;
  /** The procedures, by their names. */
  readonly rpc: ProceduresOf<R["procedures"], CodeCallOptions>;
}

/** The operation that aggregates rows. */
export interface CodeAggregates<R extends ApiResource> {
  /** Groups the rows that match the filter. Returns the metrics of each group. */
  aggregate<
    Key extends FieldOf<R> = never,
    Count extends boolean = never,
    Sum extends FieldOf<R> = never,
    Avg extends FieldOf<R> = never,
    Min extends FieldOf<R> = never,
    Max extends FieldOf<R> = never,
  >(
    options?: CodeAggregateOptions<AggregateOptions<R, Key, Count, Sum, Avg, Min, Max>>,
  ): Promise<Groups<GroupOf<R, Key, Count, Sum, Avg, Min, Max>>>;
}

/** The batch operations of a resource. */
export type CodeBatches<R extends ApiResource> =
  & OnlyWhere<IsWritten<R["create"]>, CodeCreateBatch<R>>
  & OnlyWhere<IsWritten<R["update"]>, CodeUpdateBatches<R>>
  & ([R["create"], R["update"]] extends [never, unknown] | [unknown, never] ? unknown
    : CodeUpsertBatch<R>)
  & OnlyWhere<Has<R, "delete">, CodeDeleteBatch>;

/** The batch that creates rows. */
export interface CodeCreateBatch<R extends ApiResource> {
  /** Creates all of these rows, or none. */
  create(items: readonly BatchItem<R["create"]>[], options?: CodeCallOptions): Promise<R["row"][]>;
}

/** The batches that change rows. */
export interface CodeUpdateBatches<R extends ApiResource> {
  /** Changes every row that matches the filter. Returns the number of changed rows. */
  update(filter: CodeFilter, patch: R["update"], options?: CodeCallOptions): Promise<number>;
  /** Replaces the row of each item, found by the item's key. If one item fails, replaces no row. */
  replace(
    items: readonly ConditionalItem<ReplaceBody<R>>[],
    options?: CodeCallOptions,
  ): Promise<R["row"][]>;
}

/** The batch that creates or changes rows. */
export interface CodeUpsertBatch<R extends ApiResource> {
  /**
   * For each item, changes the row that has the item's key, or creates a row if no row has this
   * key. The key is the primary key, or the unique key in `on`.
   */
  upsert(
    items: readonly ConditionalItem<R["create"]>[],
    options?: CodeCallOptions & UniqueKeyOption<R>,
  ): Promise<R["row"][]>;
}

/** The batch that deletes rows. */
export interface CodeDeleteBatch {
  /** Deletes every row that matches the filter. Returns the number of deleted rows. */
  delete(filter: CodeFilter, options?: CodeCallOptions): Promise<number>;
}

/**
 * A filter in code: a string in the filter language, or a rule. Builders such as
 * `eq(notes.status, "open")`, `rsql` and policies return rules. The user must be allowed to filter
 * by each field that the filter contains.
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
  Fields extends PathOf<R> = FieldOf<R>,
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
  Fields extends PathOf<R> = FieldOf<R>,
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
  /** The ETag of the caller's copy. The write fails with 412 if the stored row has changed. */
  readonly ifMatch?: TagOf<R> | null | undefined;
}
