import type { RoleRights, TableFacts } from "../db/tables/table_facts.ts";
import type { OpenConfig } from "./config.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import type { Driver } from "../db/driver.ts";
import { createCachingFilterParser } from "../filter/syntax/caching_filter_parser.ts";
import type { Guard } from "../guard/guard.ts";
import { createImportsFromCode } from "../resource/code/import_as_system.ts";
import { CodeApis, createSystemTransform } from "../resource/code/code_apis.ts";
import type { CodeCaller, Resource } from "../resource/model/resource.ts";
import { InflightResponses } from "../resource/http/inflight_responses.ts";
import type { LiveHubs } from "../resource/live/live_hubs.ts";
import type { ChangeRecording } from "../resource/define/resolve_change_recordings.ts";
import { createEtagKeys } from "../resource/define/resolve_etag.ts";
import type { ColumnRightsOf } from "../resource/define/caller_fields.ts";
import type { CheckedDefinition } from "../resource/define/check_resource_definition.ts";
import { varyingDefinitions } from "../resource/define/varying_definitions.ts";
import { resolveRelations } from "../resource/define/resolve_relations.ts";
import { resolveResource } from "../resource/define/resolve_resource.ts";
import { createSealer } from "../runtime/sealer.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SearchIndexes } from "../search/search_indexes.ts";
import { type ColumnInfo, isRequired, type TableInfo } from "../schema/table_info.ts";
import type { Relation, Relations } from "../schema/relation.ts";
import {
  requireTableInfo,
  type ResourceDefinition,
} from "../resource/define/resource_definition.ts";

export interface ResolveResourcesDependencies {
  readonly resolved: ResolvedConfig;
  readonly guard: Guard;
  readonly hubs: LiveHubs;
  readonly searchIndexes: SearchIndexes;
  readonly recordings: ReadonlyMap<Driver, ChangeRecording>;
  readonly facts: TableFacts;
  readonly roleRights: RoleRights;
  readonly acting: ActAsRoleRights | null;
  readonly runtime: Runtime;
}

export interface ActAsRoleRights {
  readonly identityOf: NonNullable<Resource["identityOf"]>;
  /** Returns a function that finds a caller's column rights; null if no rights differ by column. */
  columnRightsOf(table: TableInfo): ColumnRightsOf | null;
  driverOf(table: TableInfo): Driver | null;
  inEachRole(
    resources: readonly Resource[],
  ): readonly Pick<Resource, "name" | "table" | "driver">[];
}

export interface ParsedConfig extends OpenConfig {
  readonly resources: readonly CheckedDefinition[];
}

/** Resolves the resources of an app. Relations can use resources that are resolved later. */
export function resolveResources(
  config: ParsedConfig,
  { resolved, guard, hubs, searchIndexes, recordings, facts, roleRights, acting, runtime }:
    ResolveResourcesDependencies,
) {
  const identityOf = acting?.identityOf ?? null;
  const relations = resolveRelations(config.resources, config.db.driver);
  const byTable = new Map<TableInfo, Resource>();
  const tables: TableInfo[] = [];
  const byPath = new Map<string, Resource>();
  const apis = new CodeApis(byPath, runtime, identityOf);
  const shared = {
    identityOf,
    served: byTable,
    tables,
    isIndexed: (column: ColumnInfo) => facts.indexed.has(column),
    roleRights,
    readCosts: resolved.reads,
    inflight: new InflightResponses(),
    filters: createCachingFilterParser(),
    sealer: createSealer(resolved.secrets, runtime.random),
    runtime,
  };
  const context = {
    shared,
    apiOf: (caller: CodeCaller, driver: Driver) => apis.of(caller, driver),
    basePath: resolved.basePath,
    driver: config.db.driver,
    writeBy: (driver: Driver) => recordings.get(driver)?.driver ?? driver,
    recordingOf: (driver: Driver) => recordings.get(driver)?.changes ?? null,
    guard,
    relations,
    columnRightsOf: acting?.columnRightsOf,
    varying: varyingDefinitions(config.resources, relations),
    filledByRelation: resolveNestedWrites(config.resources, relations),
    facts,
    searchIndexes,
    hubOf: (driver: Driver) => hubs.of(driver),
    tagKeys: createEtagKeys(resolved.secrets),
    maxFields: resolved.maxFields,
  };
  const resources = config.resources.map((definition) => resolveResource(definition, context));
  for (const resource of resources) {
    if (!byTable.has(resource.table)) {
      byTable.set(resource.table, resource);
      tables.push(resource.table);
    }
    byPath.set(pathInCode(resource, resolved), resource);
  }
  const driver = context.writeBy(config.db.driver);
  const { bodyLimit } = resolved;
  return {
    resources,
    apiOf: (caller: CodeCaller) => apis.of(caller, driver),
    imports: createImportsFromCode({
      resources: byPath,
      ofSystem: createSystemTransform(),
      bodyLimit,
    }),
  };
}

function pathInCode({ url }: Resource, { basePath }: ResolvedConfig): string {
  return url.slice(basePath.length + 1).split("/").map(decodeURIComponent).join("/");
}

/** Returns the foreign keys that nested writes fill in, so that no request needs to set them. */
function resolveNestedWrites(
  definitions: readonly ResourceDefinition[],
  relations: ReadonlyMap<ResourceDefinition, Relations>,
): ReadonlySet<ColumnInfo> {
  const served = new Set(definitions.map(({ table }) => requireTableInfo(table)));
  const filledByRelation = new Set<ColumnInfo>();
  for (const definition of definitions) {
    if (definition.options.nestedWrites !== true) continue;
    const owner = requireTableInfo(definition.table);
    const own = [...relations.get(definition)?.values() ?? []];
    if (own.length === 0) {
      throw new Error(`Cannot serve "${owner.name}": nestedWrites needs relations to write along`);
    }
    for (const relation of own) {
      requireFillableLink(relation, served);
      for (const column of foreignKeys(relation)) filledByRelation.add(column);
    }
  }
  return filledByRelation;
}

function foreignKeys({ type, steps: [first, second] }: Relation): readonly ColumnInfo[] {
  if (type === "belongsTo") return first.own;
  return [...first.other, ...(second === undefined ? [] : second.own)];
}

function requireFillableLink(relation: Relation, served: ReadonlySet<TableInfo>): void {
  const link = relation.steps[0].table;
  if (relation.type !== "manyToMany" || served.has(link)) return;
  const filled = foreignKeys(relation);
  for (const column of link.columns) {
    const isOpen = filled.includes(column) || column.generated || column.default !== null;
    if (isOpen || !isRequired(column)) continue;
    throw new Error(
      `Cannot relate "${relation.owner.name}" by relations.${relation.name}: with nestedWrites ` +
        `nothing can fill "${column.name}" of "${link.name}": give it a default, or serve the table`,
    );
  }
}
