import type { AggregateOptions, GroupOf, Groups } from "../../api/aggregates.ts";
import type { ApiResource, Has } from "../../api/api.ts";
import type {
  CreateRequests,
  DeleteRequests,
  IsWritten,
  OnlyWhere,
  ProceduresOf,
  RestoreRequests,
  SearchRequests,
  UpdateRequests,
} from "../../api/resource_client.ts";
import type { FieldOf, IncludeOf, Page, RowOf, Tagged } from "../../api/rows.ts";
import type {
  BatchItem,
  ConditionalItem,
  ReplaceBody,
  UniqueKeyOption,
} from "../../api/write_options.ts";
import type { ServedRow, TableLike } from "../../schema/table_like.ts";
import type { DatabaseHandle } from "../../db/database_handle.ts";
import type {
  CodeAggregateOptions,
  CodeCallOptions,
  CodeConditionalOptions,
  CodeCountOptions,
  CodeFilter,
  CodeGetOptions,
  CodeListOptions,
  CodeSearchOptions,
} from "./code_options.ts";

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
   * that `capabilities` disables. Hooks run, values are checked, and batches have their limits.
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

/** The resources of an app whose types are not known. */
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
  list<Fields extends FieldOf<R> = FieldOf<R>, Included extends IncludeOf<R> = never>(
    options?: CodeListOptions<R, Fields, Included>,
  ): Promise<Page<RowOf<R, Fields, Included>>>;
  /** Yields all rows that match the filter, and reads them page by page. */
  all<Fields extends FieldOf<R> = FieldOf<R>, Included extends IncludeOf<R> = never>(
    options?: CodeListOptions<R, Fields, Included>,
  ): AsyncGenerator<RowOf<R, Fields, Included>, void, void>;
  /** Returns one row with its ETag, or null if the ETag still equals `ifNoneMatch`. */
  get<
    Fields extends FieldOf<R> = FieldOf<R>,
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
  /** Returns metrics of the rows that match the filter, for each group. */
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
  /** Replaces the rows whose keys are in these items: all of them or none. */
  replace(
    items: readonly ConditionalItem<ReplaceBody<R>>[],
    options?: CodeCallOptions,
  ): Promise<R["row"][]>;
}

/** The batch that creates or changes rows. */
export interface CodeUpsertBatch<R extends ApiResource> {
  /**
   * For each item, changes the row with its key, or creates a row if there is none. The key is the
   * primary key, or the unique key in `on`.
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
