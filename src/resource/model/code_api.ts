import type {
  AggregateRequests,
  BatchRequests,
  ConditionalOptions,
  CreateRequests,
  DeleteRequests,
  OnlyWhere,
  ReadCalls,
  RestoreRequests,
  SearchRequests,
  UpdateRequests,
} from "../../api/resource_client.ts";
import type { ApiResource, Has } from "../../api/rows.ts";
import type { OptionsWith } from "../../api/read_options.ts";
import type { ServedRow, TableLike } from "../../schema/table_like.ts";
import type { DatabaseHandle } from "../../db/database_handle.ts";
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
export type AnyApiResource = TableApiResource<Record<string, unknown>, Record<string, unknown>>;

/** A resource whose types follow from its table. */
export interface TableApiResource<S, I> extends ApiResource {
  /** Any value. */
  readonly key: unknown;
  /** A row of the table. A caller receives only the readable fields. */
  readonly row: ServedRow<S> & object;
  /** A new row of the table. Hooks and the service can add fields. */
  readonly create: Partial<ServedRow<I>>;
  /** The fields that change. */
  readonly update: Partial<ServedRow<I>>;
  /** Any relations. */
  readonly relations: Record<string, Record<string, unknown>>;
  /** Any procedures. */
  readonly procedures: { readonly [name: string]: { input: unknown; output: unknown } };
}

/** The operations that a resource offers. */
export type CodeCalls<R extends ApiResource> =
  & ReadCalls<R, CodeFilter>
  & AggregateRequests<R, CodeFilter>
  & OnlyWhere<Has<R, "search">, SearchRequests<R, CodeFilter>>
  & OnlyWhere<Has<R, "create">, CreateRequests<R, CodeConditionalOptions<R>>>
  & OnlyWhere<
    Has<R, "update">,
    UpdateRequests<R, CodeConditionalOptions<R>, CodeConditionalOptions<R>>
  >
  & OnlyWhere<Has<R, "delete">, DeleteRequests<R, CodeConditionalOptions<R>>>
  & OnlyWhere<Has<R, "restore">, RestoreRequests<R, CodeConditionalOptions<R>>>
  & { readonly batch: CodeBatches<R> };

/** The batch operations of a resource: `createBatch` of a client is `batch.create` in code. */
export type CodeBatches<R extends ApiResource> = {
  readonly [
    Name in keyof BatchRequests<R, CodeFilter> as Name extends `${infer Short}Batch` ? Short : never
  ]: BatchRequests<R, CodeFilter>[Name];
};

/**
 * A filter in code: a string in the filter language, or a rule. Builders such as
 * `eq(notes.status, "open")`, `rsql` and policies return rules. The user must be allowed to filter
 * by each field that the filter contains.
 */
export type CodeFilter = Rule | string | { readonly filter: string };

/** The options of a write that can depend on the row's ETag. */
export type CodeConditionalOptions<R extends ApiResource> = OptionsWith<
  CodeFilter,
  ConditionalOptions<R>
>;
