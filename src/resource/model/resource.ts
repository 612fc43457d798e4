import type { Access, AccessPolicy, User } from "../../auth/authorize.ts";
import type { DatabaseHandle } from "../../db/database_handle.ts";
import type { SqlPlans } from "../../db/template/sql_plan.ts";
import type { DatabaseIdentity, Driver } from "../../db/driver.ts";
import type { RowReader } from "../../db/rows.ts";
import type { RoleRights } from "../../db/tables/table_facts.ts";
import type { Filter } from "../../filter/filter.ts";
import type { OperatorRegistry } from "../../filter/operators/operator_registry.ts";
import type { CachingFilterParser } from "../../filter/syntax/caching_filter_parser.ts";
import type { OperationProtection } from "../../guard/operation_protection.ts";
import type { LiveHub } from "../../live/live_hub.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Sealer } from "../../runtime/sealer.ts";
import type { Relations } from "../../schema/relation.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { Indexer } from "../../search/indexer.ts";
import type { OpenIndex } from "../../search/open_index.ts";
import type { PageLimits } from "../http/query_parameters.ts";
import type { InflightResponses } from "../http/inflight_responses.ts";
import type { AnyApi, CodeApi } from "./code_api.ts";
import type { AnyHooks } from "./hooks.ts";
import type { Procedure } from "./procedure.ts";
import type { SoftDelete } from "./soft_delete.ts";
import type { FieldOptions } from "./resource_options.ts";
import type { AggregateColumns } from "../../plan/aggregate_columns.ts";
import type { EtagPolicy } from "../http/etag.ts";
import type { ResolvedChangesOptions } from "../../db/changes/changes_options.ts";
import type { OptimisticIds } from "../../db/changes/logged_change.ts";

export interface CodeCaller {
  readonly user: User | null;
  readonly isSystem: boolean;
  readonly raw: Request | null;
  readonly depth: number;
  readonly within: OpenTransaction | null;
}

/** An open transaction in which calls by server-side code run, one after the other. */
export interface OpenTransaction {
  readonly base: Driver;
  /** If `work` throws, only its changes are undone. If `isSystem`, it has the service's rights. */
  join<T>(work: (part: TransactionPart) => Promise<T>, isSystem?: boolean): Promise<T>;
}

export interface TransactionPart {
  readonly driver: Driver;
  readonly within: OpenTransaction;
  handle(plans: SqlPlans): DatabaseHandle;
}

export interface ComputedFields {
  readonly fields: readonly (readonly [name: string, compute: (row: Row) => unknown])[];
  failed(field: string, error: unknown): void;
}

/** The enabled operations of a resource. All callers have the same capabilities. */
export interface ResolvedCapabilities {
  /** True if rows can be created. */
  readonly enableCreate: boolean;
  /** True if rows can be changed and replaced. */
  readonly enableUpdate: boolean;
  /** True if rows can be deleted. */
  readonly enableDelete: boolean;
  /** True if the enabled operations can also write batches. */
  readonly enableBatch: boolean;
  /** True if lists can be exported as CSV and NDJSON. */
  readonly enableExport: boolean;
  /** True if `POST /import` is enabled. An import writes rows while it receives the body. */
  readonly enableImport: boolean;
  /** True if rows can be aggregated. */
  readonly enableAggregations: boolean;
  /** True if rows that are marked as deleted can be restored. */
  readonly enableRestore: boolean;
  /** True if the versions of rows are recorded, and can be listed. */
  readonly enableHistory: boolean;
  /** True if the resource has live streams. */
  readonly enableSubscribe: boolean;
  /** True if `GET /search` is enabled. */
  readonly enableSearch: boolean;
}

export interface ResourcesByTable {
  get(table: TableInfo): Resource | undefined;
}

export interface SharedParts {
  /** Returns the database role and claims for a caller, or null for the service's role. */
  readonly identityOf: ((user: User | null) => DatabaseIdentity) | null;
  /** The resources by table. The map is filled after every resource is resolved. */
  readonly served: ResourcesByTable;
  /** The served tables. The list is filled together with `served`. */
  readonly tables: readonly TableInfo[];
  /** Returns true if an index begins with this column, which can belong to any served table. */
  isIndexed(column: ColumnInfo): boolean;
  readonly roleRights: RoleRights;
  readonly readCosts: {
    /** The largest response, in bytes. Exports and streams are exempt. */
    readonly maxAnswerBytes: number;
    readonly queryTimeoutMs: number;
  };
  readonly inflight: InflightResponses;
  readonly filters: CachingFilterParser;
  readonly sealer: Sealer;
  readonly runtime: Runtime;
}

export interface Resource extends SharedParts, CallerFields {
  readonly name: string;
  /** The path of the resource, with the base path, percent-encoded: `/api/notes`. */
  readonly url: string;
  readonly table: TableInfo;
  readonly driver: Driver;
  readonly db: DatabaseHandle;
  /** Returns the operations for a caller in code. Their transactions use this `driver`. */
  api(caller: CodeCaller): CodeApi<AnyApi>;
  readonly sqlPlans: SqlPlans;
  readonly reader: RowReader;
  readonly policy: AccessPolicy;
  /** Returns the parts of the resource that depend on the caller's fields; null if no part does. */
  readonly fieldsOf: ((user: User | null) => CallerFields) | null;
  /** The field lists that depend on the caller. Empty in a copy of the resource for one caller. */
  readonly varyingFields: ReadonlySet<FieldListName>;
  /** True if the database role, or the fields of this or a related resource, differ by caller. */
  readonly variesByCaller: boolean;
  /** Returns a test if a user has equal fields. It can throw. Null if all users have the same. */
  sameFieldsAs(): ((user: User | null) => boolean) | null;
  /** The columns that statements can read: all, or only those that the database role can read. */
  readonly stored: readonly ColumnInfo[];
  readonly safeNumbers: boolean;
  readonly strictInput: boolean;
  readonly strictQuery: boolean;
  /** True if `preview` may truncate values. Only in the dashboard, which marks truncated values. */
  readonly allowsPreview: boolean;
  /** True if CSV exports always escape formulas: dashboard users open exports in spreadsheets. */
  readonly escapesFormulas: boolean;
  readonly generated: ReadonlySet<ColumnInfo>;
  readonly timestamps: {
    readonly onCreate: readonly ColumnInfo[];
    readonly onUpdate: readonly ColumnInfo[];
  };
  readonly computed: ComputedFields;
  readonly capabilities: ResolvedCapabilities;
  readonly isSubscribable: boolean;
  /** The tables with a history and the columns that are never recorded. Null without a log. */
  readonly recording: Pick<ResolvedChangesOptions, "history" | "exclude"> | null;
  readonly page: PageLimits;
  readonly batch: {
    readonly create: number;
    readonly update: number;
    readonly replace: number;
    readonly delete: number;
    readonly incrementVersion: boolean;
  };
  readonly imports: { readonly maxBytes: number };
  readonly maxFields: number;
  readonly softDelete: SoftDelete | null;
  readonly undeleted: Filter;
  readonly hooks: AnyHooks;
  readonly hookTimeoutMs: number;
  readonly procedures: ReadonlyMap<string, Procedure>;
  /** The limits and challenges of the operations, by access. Lacks an access that has neither. */
  readonly protections: ReadonlyMap<Access, OperationProtection>;
  readonly procedureProtections: ReadonlyMap<string, OperationProtection>;
  readonly relations: Relations;
  readonly nestedWrites: boolean;
  /** Caches copies of the resource with fewer fields or safe numbers. Copies share the cache. */
  readonly views: WeakMap<Resource, WeakMap<object, [Resource?, Resource?]>>;
  /** Returns true if the row that a write statement returns is final: no trigger changes it. */
  returnsFinalRows(): boolean;
  /** Returns true if no trigger changes data when a statement affects no row. */
  actsOnRowsOnly(): boolean;
  hub(): LiveHub | null;
  readonly search: OpenIndex | null;
  readonly indexers: readonly Indexer[];
  readonly operators: OperatorRegistry;
}

export type FieldListName = keyof FieldOptions<Record<string, unknown>>;

/** Returns a user's field lists (null: anonymous). Throws if a function of `fields` fails. */
export type FieldListsOfUser = (user: User | null) => CallerFieldLists;

export interface CallerFieldLists {
  readonly id: string;
  readonly rights?: {
    readonly unreadable: ReadonlySet<ColumnInfo>;
    readonly notInsertable: ReadonlySet<ColumnInfo>;
  };
  narrow(): FieldPolicy;
}

export interface CallerFields {
  readonly fields: FieldPolicy;
  readonly groups: AggregateColumns;
  readonly etag: EtagPolicy | null;
  /** The columns that other callers can read, but this caller cannot. */
  readonly withheld: ReadonlySet<ColumnInfo>;
  /** The columns that the caller's database role can read. Absent if it can read all columns. */
  readonly stored?: readonly ColumnInfo[];
  readonly notInsertable?: ReadonlySet<ColumnInfo>;
  /** A string that is equal for two callers only if their field lists are equal. */
  readonly fieldsKey: string;
}

export interface FieldPolicy {
  readonly readable: readonly ColumnInfo[];
  /** Columns that a request can select: readable columns, or results of database functions. */
  readonly selectable: readonly ColumnInfo[];
  readonly writable: ReadonlySet<ColumnInfo>;
  /** The columns that no body can change after the row was created. Contains no key columns. */
  readonly immutable: ReadonlySet<ColumnInfo>;
  readonly filterable: ReadonlySet<ColumnInfo>;
  readonly sortable: ReadonlySet<ColumnInfo>;
}

/** Written rows, and the ids by which clients recognize the events of their own writes. */
export interface WrittenRows {
  readonly rows: readonly Row[];
  readonly recorded: OptimisticIds;
}
