import type { TableFacts } from "../../db/tables/table_facts.ts";
import { resolveScopes } from "../../auth/authorize.ts";
import { databaseHandle } from "../../db/database_handle.ts";
import { SqlPlans } from "../../db/template/sql_plan.ts";
import type { Driver } from "../../db/driver.ts";
import { createRowReader, type OnInvalidValue } from "../../db/rows.ts";
import { allRows } from "../../filter/filter.ts";
import { createOperatorRegistry } from "../../filter/operators/operator_registry.ts";
import type { Guard } from "../../guard/guard.ts";
import { createScopeResolver } from "../../filter/resolve_scope_filter.ts";
import type { LiveHub } from "../../live/live_hub.ts";
import type { AnyApi, CodeApi } from "../model/code_api.ts";
import type { CodeCaller, Resource, SharedParts } from "../model/resource.ts";
import { defaultMaxFields } from "./default_max_fields.ts";
import type { PageLimits } from "../http/query_parameters.ts";
import type { Observer } from "../../runtime/runtime.ts";
import type { Relations } from "../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { SearchIndexes } from "../../search/search_indexes.ts";
import type { CheckedDefinition } from "./check_resource_definition.ts";
import { requireTableInfo, type ResourceDefinition } from "./resource_definition.ts";
import type { EtagKeys } from "../http/etag.ts";
import { type ColumnRightsOf, widestFields } from "./caller_fields.ts";
import {
  type ColumnResolver,
  createColumnResolver,
  resolveFieldLists,
} from "./resolve_field_lists.ts";
import { isSubscribable, requireReadableKey } from "./subscribable.ts";
import { resolveComputed } from "./resolve_computed.ts";
import { resolveEtag } from "./resolve_etag.ts";
import { resolveProcedures } from "./resolve_procedures.ts";
import { resolveSearch } from "./resolve_search.ts";
import { resolveSoftDelete, type SoftDelete } from "../model/soft_delete.ts";
import { canGenerate } from "../model/generated_column.ts";

export interface ResourceContext {
  readonly shared: SharedParts;
  readonly basePath: string;
  readonly driver: Driver;
  writeBy(driver: Driver): Driver;
  recordingOf(driver: Driver): Resource["recording"];
  readonly guard: Guard;
  readonly relations: ReadonlyMap<ResourceDefinition, Relations>;
  readonly filledByRelation: ReadonlySet<ColumnInfo>;
  /** Returns the users' rights on a table's columns. Absent if users have no database roles. */
  readonly columnRightsOf?: ((table: TableInfo) => ColumnRightsOf | null) | undefined;
  readonly varying: ReadonlySet<ResourceDefinition>;
  readonly facts: TableFacts;
  hubOf(driver: Driver): LiveHub | null;
  /** Returns the operations for a caller. Must be called only after every resource is resolved. */
  apiOf(caller: CodeCaller, driver: Driver): CodeApi<AnyApi>;
  readonly searchIndexes: SearchIndexes;
  readonly tagKeys: EtagKeys;
  /** The largest number of fields in a body; null if the number depends on the resource. */
  readonly maxFields: number | null;
}

type Options = CheckedDefinition["options"];

export function resolveResource(definition: CheckedDefinition, context: ResourceContext): Resource {
  const { options, hookTimeoutMs } = definition;
  const { shared, guard, searchIndexes } = context;
  const { runtime, isIndexed, filters } = shared;
  const table = requireTableInfo(definition.table);
  const find = createColumnResolver(table);
  const operators = createOperatorRegistry(options.customOperators);
  const relations: Relations = context.relations.get(definition) ?? new Map();
  const relationsOf = (from: TableInfo): Relations =>
    (from === table ? relations : shared.served.get(from)?.relations) ?? new Map();
  checkKey(options.id, table, find);
  const softDelete = options.softDelete === undefined
    ? null
    : resolveSoftDelete(find(options.softDelete.field, "softDelete.field"), table);
  const undeleted = softDelete?.undeleted ?? allRows;
  const lists = resolveFieldLists(options.fields, { table, softDelete, find });
  const { readable, writable } = lists.widest;
  const generated = resolveGenerated(options, table, find);
  const possible = possibleCapabilities(options.capabilities, table);
  const byRelation = context.filledByRelation;
  const filled = { writable, generated, byRelation, softDelete };
  requireFillable({ ...options, capabilities: possible }, table, filled);
  const subscribable = isSubscribable(options, table);
  if (subscribable) requireReadableKey(table, lists.widest);
  const url = `${context.basePath}/${options.path ?? encodeURIComponent(table.label)}`;
  const database = resolveDatabase(options.db, table, context);
  if (options.history !== undefined) requireRecordable(table, shared);
  const searched = { ...database, table, readable, undeleted, find, isIndexed };
  const search = resolveSearch(options.search, searched, searchIndexes);
  const etag = resolveEtag(options.etag, table, { keys: context.tagKeys, readable, find });
  const computed = resolveComputed(options, table, runtime);
  const { batch, nestedWrites, strictInput, strictQuery, imports, hooks } = options;
  return {
    ...shared,
    ...database,
    ...widestFields(lists, context.columnRightsOf?.(table) ?? null, { table, etag, computed }),
    ...resolveProtections(options, table, url, guard),
    name: table.label,
    ...{ url, table, relations, operators, nestedWrites, strictInput, strictQuery },
    policy: {
      ...resolveScopes(options.auth ?? {}),
      resolve: createScopeResolver({ table, operators, filters, relationsOf }, runtime.observe),
    },
    variesByCaller: shared.identityOf !== null || context.varying.has(definition),
    ...{ allowsPreview: false, escapesFormulas: false },
    ...{ generated, timestamps: timestampsOf(table), computed, search, softDelete, undeleted },
    capabilities: {
      ...possible,
      // Policies of the database do not apply to old versions, so a role with policies sees none.
      get enableHistory() {
        return options.history !== undefined &&
          shared.roleRights.known(table)?.hidesRows !== true;
      },
      enableRestore: softDelete !== null && possible.enableDelete,
      // The service cannot index rows that row level security hides from its database role.
      get enableSearch() {
        return search !== null && shared.roleRights.known(table)?.hidesRows !== true;
      },
    },
    isSubscribable: subscribable,
    page: resolvePage(options, table),
    ...{ batch, imports, hooks, hookTimeoutMs },
    maxFields: context.maxFields ?? defaultMaxFields({ table, batch, relations, nestedWrites }),
    views: new WeakMap(),
  };
}

function resolveDatabase(db: Options["db"], table: TableInfo, context: ResourceContext) {
  const driver = context.writeBy(db?.driver ?? context.driver);
  const sqlPlans = new SqlPlans();
  const onInvalidValue = observeInvalidValues(table, context.shared.runtime.observe);
  return {
    driver,
    recording: context.recordingOf(db?.driver ?? context.driver),
    sqlPlans,
    db: databaseHandle(driver, sqlPlans),
    reader: createRowReader(driver.dialect, onInvalidValue, context.facts.conflicting),
    indexers: context.searchIndexes.indexersOf(driver, table),
    api: (caller: CodeCaller) => context.apiOf(caller, driver),
    hub: () => context.hubOf(driver),
    returnsFinalRows: () => context.facts.final.has(table),
    actsOnRowsOnly: () => context.facts.withoutEffects.has(table),
  };
}

/** Returns the reason why a table cannot have a history, or null if the table can have one. */
export function whyNoHistory({ recordable, primaryKey }: TableInfo): string | null {
  if (!recordable) return "changes of a view are not recorded";
  if (primaryKey.length === 0) return "it has no primary key";
  return primaryKey.some(({ dbName }) => /["\\]/.test(dbName))
    ? "the name of a key column contains a quote or a backslash"
    : null;
}

function requireRecordable(
  table: TableInfo,
  { identityOf }: Pick<SharedParts, "identityOf">,
): void {
  const { label } = table;
  const reason = identityOf === null
    ? whyNoHistory(table)
    : "with actAs, policies of the database do not apply to versions";
  if (reason !== null) throw new Error(`Cannot keep a history of "${label}": ${reason}`);
}

function resolveProtections(
  options: Options,
  table: TableInfo,
  url: string,
  guard: Guard,
): Pick<Resource, "procedures" | "protections" | "procedureProtections"> {
  const subject = `Cannot serve "${table.label}"`;
  const procedures = resolveProcedures(options.procedures, table);
  return {
    procedures,
    protections: guard.protect(options, { subject, url, embedsRows: options.nestedWrites }),
    procedureProtections: new Map([...procedures].flatMap(([name, procedure]) => {
      const target = { url, subject: `${subject}: procedures.${name}` };
      const protection = guard.protectProcedure(procedure, options, target);
      return protection === null ? [] : [[name, protection]];
    })),
  };
}

function timestampsOf({ columns }: TableInfo): Resource["timestamps"] {
  return {
    onCreate: columns.filter(({ writeTimestamp }) => writeTimestamp !== null),
    onUpdate: columns.filter(({ writeTimestamp, onUpdate }) =>
      writeTimestamp === "updated" || onUpdate !== undefined
    ),
  };
}

/** Reports one invalid value per column, because a report of each value would flood the log. */
function observeInvalidValues(table: TableInfo, observe: Observer): OnInvalidValue {
  const observed = new Set<ColumnInfo>();
  return (column) => {
    if (observed.has(column)) return;
    observed.add(column);
    observe({ kind: "value_does_not_fit", table: table.label, column: column.name });
  };
}

/** Returns the possible operations. A view allows some writes, but not `subscribe`. */
function possibleCapabilities(
  wanted: Options["capabilities"],
  { readOnly, recordable, view }: TableInfo,
): Options["capabilities"] {
  if (recordable) return wanted;
  const accepts = (write: "insert" | "update" | "delete") => !readOnly && view?.[write] !== false;
  return {
    ...wanted,
    enableCreate: wanted.enableCreate && accepts("insert"),
    enableUpdate: wanted.enableUpdate && accepts("update"),
    enableDelete: wanted.enableDelete && accepts("delete"),
    enableBatch: wanted.enableBatch && !readOnly,
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

interface Filled {
  readonly writable: ReadonlySet<ColumnInfo>;
  readonly generated: ReadonlySet<ColumnInfo>;
  readonly byRelation: ReadonlySet<ColumnInfo>;
  readonly softDelete: SoftDelete | null;
}

/** Throws if nothing sets a required column, because every request to create a row would fail. */
function requireFillable(
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
