import { type AccessPolicy, settleScopes } from "../auth/scope.ts";
import type { Driver } from "../db/driver.ts";
import { createRowReader, type Misfit, type RowReader } from "../db/rows.ts";
import type { Filter } from "../filter/filter.ts";
import type { FilterParser } from "../filter/parse_filter.ts";
import { type Operators, operatorsWith } from "../filter/operators.ts";
import { resolveFilter, resolveScope } from "../filter/resolve.ts";
import type { PageLimits } from "../plan/page.ts";
import type { Observer } from "../runtime/observation.ts";
import type { Sealer } from "../runtime/sealer.ts";
import { readColumnInfo, readTableInfo } from "../schema/define.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { ColumnReferenceOf, ResourceDefinition } from "./definition.ts";

/** Which columns may be used for what. */
export interface FieldPolicy {
  /** In the table's order. */
  readonly readable: readonly ColumnInfo[];
  readonly writable: ReadonlySet<ColumnInfo>;
  readonly filterable: ReadonlySet<ColumnInfo>;
  readonly sortable: ReadonlySet<ColumnInfo>;
}

/** What may be done at all, whoever asks. */
export interface SettledCapabilities {
  readonly enableCreate: boolean;
  readonly enableUpdate: boolean;
  readonly enableDelete: boolean;
}

/** One served table, every option settled. */
export interface Resource {
  /** The table's name, for messages. */
  readonly name: string;
  /** Where it is mounted, with the base path, percent-encoded: `/api/notes`. */
  readonly url: string;
  readonly table: TableInfo;
  readonly driver: Driver;
  readonly reader: RowReader;
  readonly policy: AccessPolicy;
  readonly fields: FieldPolicy;
  readonly strictInput: boolean;
  readonly capabilities: SettledCapabilities;
  readonly page: PageLimits;
  readonly operators: Operators;
  readonly filters: FilterParser;
  readonly sealer: Sealer;
}

/** What all resources of an app share. */
export interface ResourceContext {
  readonly basePath: string;
  readonly driver: Driver;
  readonly filters: FilterParser;
  readonly sealer: Sealer;
  readonly observe: Observer;
}

/** Checks the options and settles every default, once. Throws a plain Error for a mistake in them. */
export function settleResource(definition: ResourceDefinition, context: ResourceContext): Resource {
  const { options } = definition;
  const table = tableOf(definition.table);
  const columns = columnFinder(table, context.observe);
  const operators = operatorsWith(options.customOperators ?? {});
  const driver = options.db?.driver ?? context.driver;
  checkKey(options.id, table, columns);
  const { enableCreate = true, enableUpdate = true, enableDelete = true } = options.capabilities ??
    {};
  return {
    name: table.name,
    url: `${context.basePath}/${options.path ?? encodeURIComponent(table.name)}`,
    table,
    driver,
    reader: createRowReader(driver.dialect, observeMisfits(table, context.observe)),
    policy: {
      ...settleScopes(options.auth ?? {}),
      resolve: (result) => resolveScope(result, { table, operators, filters: context.filters }),
    },
    fields: settleFields(options, table, columns),
    strictInput: options.strictInput ?? false,
    capabilities: { enableCreate, enableUpdate, enableDelete },
    page: settlePage(options, table),
    operators,
    filters: context.filters,
    sealer: context.sealer,
  };
}

/** A user's filter text → a filter under the field policy. Throws a 400. */
export function userFilter(text: string | undefined, resource: Resource): Filter | null {
  const syntax = text === undefined ? null : resource.filters.parse(text);
  if (syntax === null) return null;
  return resolveFilter(syntax, {
    table: resource.table,
    operators: resource.operators,
    mayFilter: (column) => resource.fields.filterable.has(column),
  });
}

/** A declared table may have a column called `byName`, which is no Map. */
function isTableInfo(table: ResourceDefinition["table"]): table is TableInfo {
  return "byName" in table && table.byName instanceof Map;
}

function tableOf(table: ResourceDefinition["table"]): TableInfo {
  return isTableInfo(table) ? table : readTableInfo(table);
}

/** Once for each column: a whole table of such values must not flood the log. */
function observeMisfits(table: TableInfo, observe: Observer): Misfit {
  const told = new Set<ColumnInfo>();
  return (column) => {
    if (told.has(column)) return;
    told.add(column);
    observe({ kind: "value_does_not_fit", table: table.name, column: column.name });
  };
}

type ColumnFinder = (reference: ColumnReference, option: string) => ColumnInfo;

type ColumnReference = ColumnReferenceOf<Record<string, unknown>>;

function columnFinder(table: TableInfo, observe: Observer): ColumnFinder {
  let warned = false;
  return (reference, option) => {
    const name = typeof reference === "string" ? reference : readColumnInfo(reference).name;
    const column = table.byName.get(name);
    if (column === undefined) {
      throw new Error(`Cannot serve "${table.name}": ${option} names no column "${name}" of it`);
    }
    if (typeof reference === "string" && table.own && !warned) {
      warned = true;
      observe({
        kind: "deprecated",
        message: `"${table.name}" refers to columns by name in ${option}: use the column object`,
      });
    }
    return column;
  };
}

function checkKey(
  id: ResourceDefinition["options"]["id"],
  table: TableInfo,
  find: ColumnFinder,
): void {
  const named = [id].flat().map((reference) => find(reference, "id"));
  const same = named.length === table.primaryKey.length &&
    named.every((column, index) => column === table.primaryKey[index]);
  if (!same) {
    const key = table.primaryKey.map((column) => column.name).join(", ");
    throw new Error(`Cannot serve "${table.name}": id must be its primary key (${key})`);
  }
}

function settleFields(
  options: ResourceDefinition["options"],
  table: TableInfo,
  find: ColumnFinder,
): FieldPolicy {
  const { readable, writable, filterable, sortable } = options.fields ?? {};
  const pick = (
    list: readonly ColumnReference[] | undefined,
    option: string,
    otherwise: Iterable<ColumnInfo>,
  ) => new Set(list?.map((reference) => find(reference, `fields.${option}`)) ?? otherwise);
  const read = pick(readable, "readable", table.columns);
  return {
    readable: table.columns.filter((column) => read.has(column)),
    writable: pick(writable, "writable", table.columns),
    filterable: pick(filterable, "filterable", read),
    sortable: pick(sortable, "sortable", read),
  };
}

function settlePage(options: ResourceDefinition["options"], table: TableInfo): PageLimits {
  const { maxLimit = 100, defaultLimit = Math.min(20, maxLimit) } = options.pagination ?? {};
  for (const limit of [maxLimit, defaultLimit]) {
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new Error(`Cannot serve "${table.name}": pagination takes whole numbers over 0`);
    }
  }
  if (defaultLimit > maxLimit) {
    throw new Error(`Cannot serve "${table.name}": pagination.defaultLimit is over maxLimit`);
  }
  return { defaultLimit, maxLimit };
}
