import { resolveScopes } from "../../auth/scope.ts";
import { databaseHandle } from "../../db/database_handle.ts";
import { SqlPlans } from "../../db/template/sql_plan.ts";
import type { Driver } from "../../db/driver.ts";
import { createRowReader, type OnInvalidValue } from "../../db/rows.ts";
import type { RoleRights } from "../../db/tables/role_rights.ts";
import { allRows } from "../../filter/filter.ts";
import { createOperatorRegistry } from "../../filter/operators/operator_registry.ts";
import type { Guard } from "../../guard/guard.ts";
import type { CachingFilterParser } from "../../filter/syntax/caching_filter_parser.ts";
import { createScopeResolver } from "../../filter/resolve_scope_filter.ts";
import type { LiveHub } from "../../live/live_hub.ts";
import type { AnyApi, CodeApi } from "../model/code_api.ts";
import type { CodeCaller } from "../model/code_caller.ts";
import { defaultMaxFields } from "./default_max_fields.ts";
import { createAggregateColumns } from "../../plan/aggregate_columns.ts";
import type { PageLimits } from "../http/query_parameters.ts";
import type { ReadCostLimits, Resource, ResourcesByTable } from "../model/resource.ts";
import type { Observer } from "../../runtime/observation.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Sealer } from "../../runtime/sealer.ts";
import type { Relations } from "../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { SearchIndexes } from "../../search/search_indexes.ts";
import { type ColumnResolver, createColumnResolver } from "./column_resolver.ts";
import type { CheckedDefinition } from "./read_definition.ts";
import { requireTableInfo, type ResourceDefinition } from "./resource_definition.ts";
import type { InflightResponses } from "../http/inflight_responses.ts";
import type { EtagKeys } from "../http/etag.ts";
import { type ColumnRightsOf, createCallerFields, withinRights } from "./caller_fields.ts";
import { resolveFieldLists } from "./resolve_field_lists.ts";
import { isSubscribable, requireReadableKey } from "./subscribable.ts";
import { resolveComputed } from "./resolve_computed.ts";
import { resolveEtag } from "./resolve_etag.ts";
import { resolveProcedureProtections, resolveProcedures } from "./resolve_procedures.ts";
import { resolveSearch } from "./resolve_search.ts";
import { resolveSoftDelete, type SoftDelete } from "../model/soft_delete.ts";
import { canGenerate } from "../model/generated_column.ts";

export interface ResourceContext {
  readonly basePath: string;
  readonly driver: Driver;
  /** Returns the driver for writes: it records changes, or it is `driver` without recording. */
  writeBy(driver: Driver): Driver;
  readonly filters: CachingFilterParser;
  readonly guard: Guard;
  readonly sealer: Sealer;
  readonly relations: ReadonlyMap<ResourceDefinition, Relations>;
  readonly filledByRelation: ReadonlySet<ColumnInfo>;
  /** Returns the role and the claims with which a caller's statements run, or null. */
  readonly identityOf: Resource["identityOf"];
  /** Returns how to look up a role's rights on the columns of a table. Absent if not needed. */
  readonly columnRightsOf?: ((table: TableInfo) => ColumnRightsOf | null) | undefined;
  /** Returns the lookup of the columns on which a caller's role has rights, if they have roles. */
  readonly varying: ReadonlySet<ResourceDefinition>;
  /** The resources by table. The map is filled after every resource is resolved. */
  readonly served: ResourcesByTable;
  /** Returns true if the column is the first of an index. The indexes must be known already. */
  isIndexed(column: ColumnInfo): boolean;
  /**
   * The tables whose constraints define how a conflict is resolved, such as `ON CONFLICT REPLACE`.
   * The set is filled after the database was queried.
   */
  readonly conflicting: ReadonlySet<TableInfo>;
  readonly final: ReadonlySet<TableInfo>;
  readonly withoutEffects: ReadonlySet<TableInfo>;
  /** The rights of database roles, known after the service has queried the database. */
  readonly roleRights: RoleRights;
  /** Returns the open live hub of a driver; null if no changes are recorded. */
  hubOf(driver: Driver): LiveHub | null;
  /** Returns the API of a caller. Called only after every resource is resolved. */
  apiOf(caller: CodeCaller, driver: Driver): CodeApi<AnyApi>;
  readonly searchIndexes: SearchIndexes;
  readonly tagKeys: EtagKeys;
  readonly readCosts: ReadCostLimits;
  readonly inflight: InflightResponses;
  /** The largest number of fields in a body; null if it depends on the resource. */
  readonly maxFields: number | null;
  readonly runtime: Runtime;
}

type Options = CheckedDefinition["options"];

/**
 * Resolves a definition to a resource: checks its options and sets every default, once. Throws a
 * plain Error for an invalid definition.
 */
export function resolveResource(
  definition: CheckedDefinition,
  context: ResourceContext,
): Resource {
  const { options, hookTimeoutMs } = definition;
  const { runtime, served, filters } = context;
  const table = requireTableInfo(definition.table);
  const find = createColumnResolver(table, runtime.observe);
  const operators = createOperatorRegistry(options.customOperators);
  const driver = context.writeBy(options.db?.driver ?? context.driver);
  const sqlPlans = new SqlPlans();
  const relations: Relations = context.relations.get(definition) ?? new Map();
  // A path of relations can lead through other tables. The relations of another table are those of
  // the resource that serves it.
  const relationsOf = (from: TableInfo): Relations =>
    (from === table ? relations : served.get(from)?.relations) ?? new Map();
  checkKey(options.id, table, find);
  const softDelete = options.softDelete === undefined
    ? null
    : resolveSoftDelete(find(options.softDelete.field, "softDelete.field"), table);
  const lists = resolveFieldLists(options.fields, { table, softDelete, find });
  const { widest: fields, varying: varyingFields } = lists;
  const rightsOf = context.columnRightsOf?.(table) ?? null;
  const ofCaller = rightsOf === null ? lists.of : withinRights(lists, rightsOf);
  const generated = resolveGenerated(options, table, find);
  const capabilities = possibleCapabilities(options.capabilities, table);
  requireCreatable({ ...options, capabilities }, table, {
    writable: fields.writable,
    generated,
    byRelation: context.filledByRelation,
    softDelete,
  });
  if (isSubscribable(options, table)) requireReadableKey(table, fields);
  const url = `${context.basePath}/${options.path ?? encodeURIComponent(table.label)}`;
  const place = { subject: `Cannot serve "${table.label}"`, url };
  const procedures = resolveProcedures(options.procedures, table);
  const { batch, nestedWrites } = options;
  const reader = createRowReader(
    driver.dialect,
    observeInvalidValues(table, runtime.observe),
    context.conflicting,
  );
  const undeleted = softDelete?.undeleted ?? allRows;
  const search = resolveSearch(
    options.search,
    {
      ...{ table, driver, reader, readable: fields.readable, undeleted, find },
      isIndexed: context.isIndexed,
    },
    context.searchIndexes,
  );
  const etag = resolveEtag(options.etag, table, {
    keys: context.tagKeys,
    readable: fields.readable,
    find,
  });
  const hasComputed = Object.keys(options.computed).length > 0;
  return {
    name: table.label,
    url,
    table,
    driver,
    identityOf: context.identityOf,
    db: databaseHandle(driver, sqlPlans),
    api: (caller) => context.apiOf(caller, driver),
    sqlPlans,
    reader,
    policy: {
      ...resolveScopes(options.auth ?? {}),
      resolve: createScopeResolver({ table, operators, filters, relationsOf }, runtime.observe),
    },
    fields,
    fieldsOf: ofCaller === null
      ? null
      : createCallerFields(ofCaller, { table, widest: fields, etag, hasComputed }),
    varyingFields,
    safeNumbers: false,
    variesByCaller: context.identityOf !== null || context.varying.has(definition),
    sameFieldsAs: () => null,
    withheld: none,
    stored: table.columns,
    fieldsKey: "",
    groups: createAggregateColumns(table, fields.readable),
    strictInput: options.strictInput,
    strictQuery: options.strictQuery,
    allowsPreview: false,
    escapesFormulas: false,
    generated,
    timestamps: {
      onCreate: table.columns.filter(({ writeTimestamp }) => writeTimestamp !== null),
      onUpdate: table.columns.filter(({ writeTimestamp, onUpdate }) =>
        writeTimestamp === "updated" || onUpdate !== undefined
      ),
    },
    computed: resolveComputed(options, table, runtime),
    capabilities: {
      ...capabilities,
      enableRestore: softDelete !== null && capabilities.enableDelete,
      // If policies hide rows from the service's role, the role cannot create the index, because
      // the index would contain the hidden rows.
      get enableSearch() {
        return search !== null && context.roleRights.known(table)?.hidesRows !== true;
      },
    },
    isSubscribable: isSubscribable(options, table),
    page: resolvePage(options, table),
    readCosts: context.readCosts,
    inflight: context.inflight,
    batch,
    imports: options.imports,
    maxFields: context.maxFields ?? defaultMaxFields({ table, batch, relations, nestedWrites }),
    etag,
    softDelete,
    undeleted,
    hooks: options.hooks,
    hookTimeoutMs,
    procedures,
    protections: context.guard.protect(options, { ...place, embedsRows: options.nestedWrites }),
    procedureProtections: resolveProcedureProtections(
      procedures,
      (procedure, name) =>
        context.guard.protectProcedure(procedure, options, {
          url,
          subject: `${place.subject}: procedures.${name}`,
        }),
    ),
    relations,
    nestedWrites,
    served,
    isIndexed: context.isIndexed,
    ...{ views: new WeakMap(), returnsFinalRows: () => context.final.has(table) },
    actsOnRowsOnly: () => context.withoutEffects.has(table),
    roleRights: context.roleRights,
    hub: () => context.hubOf(driver),
    search,
    indexers: context.searchIndexes.indexersOf(driver, table),
    operators,
    filters,
    sealer: context.sealer,
    runtime,
  };
}

const none: ReadonlySet<ColumnInfo> = new Set();

/** Observes one invalid value per column: a table full of invalid values would flood the log. */
function observeInvalidValues(table: TableInfo, observe: Observer): OnInvalidValue {
  const observed = new Set<ColumnInfo>();
  return (column) => {
    if (observed.has(column)) return;
    observed.add(column);
    observe({ kind: "value_does_not_fit", table: table.label, column: column.name });
  };
}

/** Returns what the table allows. A view is read-only, and the change log does not record it. */
function possibleCapabilities(
  wanted: Options["capabilities"],
  { readOnly }: TableInfo,
): Options["capabilities"] {
  if (!readOnly) return wanted;
  return {
    ...wanted,
    ...{ enableCreate: false, enableUpdate: false, enableDelete: false, enableBatch: false },
    enableSubscribe: false,
  };
}

function checkKey(
  id: Options["id"],
  table: TableInfo,
  find: ColumnResolver,
): void {
  const named = [id].flat().map((reference) => find(reference, "id"));
  const same = named.length === table.primaryKey.length &&
    named.every((column, index) => column === table.primaryKey[index]);
  if (!same) {
    const key = table.primaryKey.map((column) => column.name).join(", ");
    const wanted = key === "" ? "[], as it has no key" : `its primary key (${key})`;
    throw new Error(`Cannot serve "${table.label}": id must be ${wanted}`);
  }
}

function resolvePage({ pagination }: Options, table: TableInfo): PageLimits {
  const { maxLimit, defaultLimit = Math.min(20, maxLimit) } = pagination;
  if (defaultLimit > maxLimit) {
    throw new Error(
      `Cannot serve "${table.label}": pagination.defaultLimit must be at most maxLimit, ${maxLimit}, ` +
        `not ${defaultLimit}`,
    );
  }
  return { defaultLimit, maxLimit };
}

/** The columns that receive a value in a new row, by the source of the value. */
interface Filled {
  readonly writable: ReadonlySet<ColumnInfo>;
  readonly generated: ReadonlySet<ColumnInfo>;
  readonly byRelation: ReadonlySet<ColumnInfo>;
  readonly softDelete: SoftDelete | null;
}

/** Requires a value for every required column. Otherwise every POST would fail. */
function requireCreatable(
  { auth, capabilities, hooks }: Options,
  table: TableInfo,
  { writable, generated, byRelation, softDelete }: Filled,
): void {
  const isCreated = auth?.create !== undefined && capabilities.enableCreate;
  if (!isCreated || hooks.onBeforeCreate !== undefined) return;
  for (const column of table.columns) {
    const isOpen = writable.has(column) || generated.has(column) || column.primaryKey ||
      column.generated || byRelation.has(column);
    if (isOpen || !column.notNull || column.default !== null) continue;
    const mark = column === softDelete?.field ? "softDelete.field: " : "";
    throw new Error(
      `Cannot serve "${table.label}": ${mark}nothing can fill "${column.name}" of a new row: make ` +
        "it writable or generated, give it a default, or set it in onBeforeCreate",
    );
  }
}

function resolveGenerated(
  { generatedFields, auth, hooks }: Options,
  table: TableInfo,
  find: ColumnResolver,
): ReadonlySet<ColumnInfo> {
  const generated = new Set(generatedFields.map((field) => find(field, "generatedFields")));
  const isFilledElsewhere = auth?.create !== undefined || hooks.onBeforeCreate !== undefined;
  for (const column of generated) {
    if (canGenerate(column) || isFilledElsewhere) continue;
    throw new Error(
      `Cannot serve "${table.label}": nothing generates "${column.name}", which must not be null: ` +
        "give it a default, or set it in onBeforeCreate",
    );
  }
  return generated;
}
