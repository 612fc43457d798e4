import type { ScopeOptions, User } from "../../auth/authorize.ts";
import type { ProtectionOptions } from "../../guard/resource_protection_options.ts";
import type { CustomOperator } from "../../filter/operators/operator_registry.ts";
import type { IndexErrorHandler } from "../../search/indexer.ts";
import type { AnyTable, ColumnLike, TableLike } from "../../schema/table_like.ts";
import type { Relation } from "../../schema/relation.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { Hooks, RowId } from "./hooks.ts";
import type { Procedure } from "./procedure.ts";
import type { Database } from "../../db/database.ts";

/** A reference to a column in options: the column object, or its property name. */
export type ColumnReferenceOf<S, Of = AnyTable> =
  | ColumnLike<unknown, Of>
  | (keyof NoInfer<S> & string);

/** The enabled operations, for every caller. Default: all operations except exports and imports. */
export interface Capabilities {
  /** False disables POST. Default: true. */
  readonly enableCreate?: boolean | undefined;
  /** False disables PATCH and PUT. Default: true. */
  readonly enableUpdate?: boolean | undefined;
  /** False disables DELETE and the restoring of deleted rows. Default: true. */
  readonly enableDelete?: boolean | undefined;
  /** False disables all batches. A disabled operation has no batch, either. Default: true. */
  readonly enableBatch?: boolean | undefined;
  /** True enables exports: all rows as `text/csv` or `application/x-ndjson`. Default: false. */
  readonly enableExport?: boolean | undefined;
  /** True enables `POST /import`, which also needs `enableCreate`. Default: false. */
  readonly enableImport?: boolean | undefined;
  /** False disables `GET /aggregate` and its live stream. Default: true. */
  readonly enableAggregations?: boolean | undefined;
  /** False disables live streams. Default: true. */
  readonly enableSubscribe?: boolean | undefined;
}

/** The maximum number of items in each kind of batch. */
export interface BatchOptions {
  /** The maximum number of items in one `POST /batch` or `POST /batch/upsert`. Default: 100. */
  readonly create?: number | undefined;
  /** The maximum number of rows that one `PATCH /batch` changes. Default: 100. */
  readonly update?: number | undefined;
  /** The maximum number of items in one `PUT /batch`. Default: 100. */
  readonly replace?: number | undefined;
  /** The maximum number of rows that one `DELETE /batch` deletes. Default: 100. */
  readonly delete?: number | undefined;
  /** True to increment the versions of rows in batches as well. Default: false. */
  readonly incrementVersion?: boolean | undefined;
}

/** The limits of a resource for imports. */
export interface ImportLimits {
  /** The maximum size of one body, in bytes. Default: 1,000,000,000. */
  readonly maxBytes?: number | undefined;
}

/** The options for ETags. By default, an ETag is a hash of the row. */
export interface EtagOptions<S, Of = AnyTable> {
  /** The integer column that every PATCH and PUT increments. */
  readonly versionField?: ColumnReferenceOf<S, Of> | undefined;
  /** The timestamp column that every PATCH and PUT sets to a later time. */
  readonly updatedAtField?: ColumnReferenceOf<S, Of> | undefined;
  /** The column that an ETag contains in addition to `updatedAtField`. Default: the primary key. */
  readonly idField?: ColumnReferenceOf<S, Of> | undefined;
  /** The strength of ETags. With `strong`, proxies must not change responses. Default: `weak`. */
  readonly algorithm?: "weak" | "strong" | undefined;
  /** True to reject a write of one row without `If-Match`, with a 428. Default: false. */
  readonly require?: boolean | undefined;
}

/**
 * The options of a relation from one resource to another. `include` loads the related rows, and
 * scopes can test their fields by a path: ``rsql`project.ownerId==${user.id}` ``. `Of` is the name
 * of the resource's own table, `Target` is the name of the related table.
 */
export interface RelationOptions<
  Of = AnyTable,
  Target = AnyTable,
  Type extends Relation["type"] = Relation["type"],
> {
  /** `belongsTo`: this table has the foreign key. `hasOne`, `hasMany`: the other table has it. */
  readonly type: Type;
  /** The related table, or its name. If two resources serve the table, the first one is used. */
  readonly resource: TableLike<unknown, unknown, Target> | TableInfo | string;
  /** The referring columns. `manyToMany`: the link table's columns that refer to this resource. */
  readonly foreignKey: OneOrMore<
    | ColumnLike<
      unknown,
      Type extends "belongsTo" ? Of : Type extends "manyToMany" ? AnyTable : NoInfer<Target>
    >
    | string
  >;
  /**
   * The referenced columns, in the order of `foreignKey`. Default: the primary key of their table.
   * For `manyToMany`: the columns of the link table that refer to the other resource.
   */
  readonly references?:
    | OneOrMore<
      | ColumnLike<
        unknown,
        Type extends "belongsTo" ? NoInfer<Target> : Type extends "manyToMany" ? AnyTable : Of
      >
      | string
    >
    | undefined;
  /** The link table of `manyToMany`. */
  readonly through?: TableLike<unknown, unknown> | TableInfo | undefined;
  /** True to allow the relation in a request's `filter`: `author.name==Ann`. Default: false. */
  readonly filterable?: boolean | undefined;
}

/** @internal A value, or a list of values. */
export type OneOrMore<Value> = Value | readonly Value[];

/** The options of the relations that a resource derives from foreign keys. */
export interface AutoRelationOptions {
  /** True to allow these relations in `filter`, e.g. `author.name==Ann`. Default: false. */
  readonly filterable?: boolean | undefined;
}

/** The options of soft delete, which marks rows as deleted instead of removing them. */
export interface SoftDeleteOptions<S, Of = AnyTable> {
  /**
   * The column that marks deleted rows: a timestamp or date (NULL: not deleted), a boolean or
   * integer (0 or NULL: not deleted), or a string (`""` or NULL: not deleted). A body can set it
   * only if `fields.writable` names it.
   */
  readonly field: ColumnReferenceOf<S, Of>;
}

/** The options of the history of a resource. */
export interface HistoryOptions {
  /** How long versions are kept, in milliseconds. Default: 2,592,000,000 (30 days). */
  readonly retentionMs?: number | undefined;
}

/** The options for search. They have no effect without a search adapter of the app. */
export interface SearchOptions<S, Of = AnyTable> {
  /** True to serve `GET /search` and to index the rows. Default: true. */
  readonly enabled?: boolean | undefined;
  /** The name of the search index. Default: the table's name. */
  readonly indexName?: string | undefined;
  /**
   * The columns whose words are searched: a list of columns, or an object that sets the weight of
   * columns or excludes them. Default: all readable columns with strings or JSON.
   */
  readonly fields?:
    | readonly ColumnReferenceOf<S, Of>[]
    | { readonly [Name in keyof NoInfer<S> & string]?: SearchFieldOptions | undefined }
    | undefined;
  /** True to index the rows at startup, and later each row that a request writes. Default: true. */
  readonly autoIndex?: boolean | undefined;
  /**
   * True to record in the key-value store which rows were written, and to index them in the
   * background, with retries. No effect for an app without `kv`. Default: false.
   */
  readonly outbox?: boolean | undefined;
  /** Called if the index has not accepted written rows. See {@link IndexErrorHandler}. */
  readonly onIndexError?: IndexErrorHandler | undefined;
}

/** The options of a resource for one column that is searched. */
export interface SearchFieldOptions {
  /** The weight of a match in this column relative to other columns. Default: 1. */
  readonly weight?: number | undefined;
  /** False excludes the column from the search. Default: true. */
  readonly searchable?: boolean | undefined;
}

/** The options for the page sizes of lists. */
export interface PaginationOptions {
  /** The page size without `limit`. Default: 20, or `maxLimit` if that is smaller. */
  readonly defaultLimit?: number | undefined;
  /** The maximum page size. A greater `limit` of a request is reduced to it. Default: 100. */
  readonly maxLimit?: number | undefined;
}

/**
 * A function that returns a list of columns for a user, or for null in an anonymous request. It is
 * called for each request, and must be synchronous. If it throws or returns a column of another
 * table, the response is a 500.
 */
export type FieldFunction<S, Of = AnyTable, U extends User = User> = (
  user: U | null,
) => readonly ColumnReferenceOf<S, Of>[];

/**
 * A list of columns in the option `fields`: the same for every caller, or a function of the user.
 * In an object, `all` limits the results of the function `by`. A function without an object can
 * return any column of the table.
 */
export type FieldList<S, Of = AnyTable, U extends User = User> =
  | readonly ColumnReferenceOf<S, Of>[]
  | FieldFunction<S, Of, U>
  | {
    /** The columns to which every result of `by` is limited. API descriptions show them. */
    readonly all: readonly ColumnReferenceOf<S, Of>[];
    /** Returns the columns that the user can use. */
    readonly by: FieldFunction<S, Of, U>;
  };

/** Lists of the columns that clients can use. Each list can depend on the user. */
export interface FieldOptions<S, Of = AnyTable, U extends User = User> {
  /** Columns in responses and in aggregates. Default: all. */
  readonly readable?: FieldList<S, Of, U> | undefined;
  /** Columns that bodies can set. Other fields are dropped before hooks run. Default: all. */
  readonly writable?: FieldList<S, Of, U> | undefined;
  /**
   * Columns that only the body of a new row can set, such as the time of creation or the owner. The
   * service drops them from later bodies, or rejects them under `strictInput`. Default: none.
   */
  readonly immutable?: FieldList<S, Of, U> | undefined;
  /** Columns for `filter`, except columns that only other users can read. Default: `readable`. */
  readonly filterable?: FieldList<S, Of, U> | undefined;
  /** Columns for `orderBy`, except columns that only other users can read. Default: `readable`. */
  readonly sortable?: FieldList<S, Of, U> | undefined;
}

/**
 * The options of a resource, which define how one table is served. `S` is the type of its rows, `I`
 * of its new rows, `U` of the users, and `Of` is the name of the table. The compiler infers the
 * other types from hooks, computed fields and relations.
 */
export interface ResourceOptions<
  S,
  I = S,
  U extends User = User,
  Of = AnyTable,
  Created = unknown,
  Updated = unknown,
  Computed = Record<string, unknown>,
  Targets = Record<string, AnyTable>,
  Key = RowId,
> extends ProtectionOptions {
  /** The primary key: a column, or the columns of a composite key in the table's key order. */
  readonly id: ColumnReferenceOf<S, Of> | readonly ColumnReferenceOf<S, Of>[];
  /** The path below the base path. Default: the table's name. */
  readonly path?: string | undefined;
  /** The database of the resource. Default: the database of the app. */
  readonly db?: Database | undefined;
  /** The scopes, which grant users access to rows. Access without a scope is denied. */
  readonly auth?: ScopeOptions<U, Of> | undefined;
  /** The operations that the resource offers. */
  readonly capabilities?: Capabilities | undefined;
  /** The columns that clients can read, write, filter by and sort by. */
  readonly fields?: FieldOptions<S, Of, U> | undefined;
  /** True to reject unknown body fields with 422 instead of ignoring them. Default: false. */
  readonly strictInput?: boolean | undefined;
  /** True to reject a parameter that looks misspelt, e.g. `orderby`, with 400. Default: true. */
  readonly strictQuery?: boolean | undefined;
  /** The sizes of the pages of a list. */
  readonly pagination?: PaginationOptions | undefined;
  /**
   * Columns that the server fills in for a new row, such as keys, times and owners. Bodies can set
   * these fields even if `fields.writable` does not contain them.
   */
  readonly generatedFields?: readonly ColumnReferenceOf<S, Of>[] | undefined;
  /** Virtual fields. Each function is synchronous and receives the row with its hidden columns. */
  readonly computed?:
    | {
      readonly [Name in keyof Computed]: (
        row: S,
      ) => Extract<Computed[Name], PromiseLike<unknown>> extends never ? Computed[Name]
        : "computed fields are synchronous";
    }
    | undefined;
  /** Functions that run before and after writes. */
  readonly hooks?: Hooks<S, I, Created, Updated, Key> | undefined;
  /** ETags and conditional requests. Default: none. */
  readonly etag?: EtagOptions<S, Of> | undefined;
  /** Marks rows as deleted instead of removing them. */
  readonly softDelete?: SoftDeleteOptions<S, Of> | undefined;
  /** Records the versions of rows, who wrote them, and by which operation. Default: none. */
  readonly history?: HistoryOptions | undefined;
  /** Named relations to rows of other resources. */
  readonly relations?:
    | {
      readonly [Name in keyof Targets]:
        | RelationOptions<Of, Targets[Name], "belongsTo">
        | RelationOptions<Of, Targets[Name], "hasOne" | "hasMany">
        | RelationOptions<Of, Targets[Name], "manyToMany">;
    }
    | undefined;
  /** Derives relations from foreign keys. Default: true for introspected tables, else false. */
  readonly autoRelations?: boolean | AutoRelationOptions | undefined;
  /**
   * True to allow bodies of POST, PATCH and PUT to write related rows under the names of their
   * relations. One transaction creates, connects and disconnects the rows. The scopes and hooks of
   * each row's own resource apply. Default: false.
   */
  readonly nestedWrites?: boolean | undefined;
  /** The search of `GET /search`, which needs a search adapter of the app. */
  readonly search?: SearchOptions<S, Of> | undefined;
  /** Custom functions at `POST /rpc/:name`, by name. See {@link procedure}. */
  readonly procedures?: Readonly<Record<string, Procedure>> | undefined;
  /** The maximum sizes of batches. */
  readonly batch?: BatchOptions | undefined;
  /** The maximum sizes of imports. */
  readonly imports?: ImportLimits | undefined;
  /** Custom filter operators, by their complete symbol: `"=near="`. */
  readonly customOperators?: Readonly<Record<string, CustomOperator>> | undefined;
}
