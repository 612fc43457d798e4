import type { Driver } from "../../db/driver.ts";
import { columnInfoOf, type ColumnLike } from "../../schema/table_like.ts";
import { canRelate, type Relation, type Relations } from "../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { RelationOptions } from "./resource_options.ts";
import {
  requireTableInfo,
  type ResourceDefinition,
  type ServedTable,
} from "./resource_definition.ts";
import { deriveRelations } from "./derive_relations.ts";

/**
 * Resolves the relations of all resources: those that each declares, and those that its foreign
 * keys imply. `driver` is that of definitions without `db`. Throws a plain Error for an invalid
 * declaration.
 */
export function resolveRelations(
  definitions: readonly ResourceDefinition[],
  driver: Driver,
): ReadonlyMap<ResourceDefinition, Relations> {
  const served = definitions.map((definition): ServedTable => ({
    definition,
    table: requireTableInfo(definition.table),
    driver: definition.options.db?.driver ?? driver,
  }));
  return new Map(served.map((from) => {
    const { relations = {}, autoRelations = !from.table.own } = from.definition.options;
    const { filterable = false } = typeof autoRelations === "object" ? autoRelations : {};
    const derived = autoRelations === false ? [] : deriveRelations(from, served, filterable);
    const declared = Object.entries(relations).map(([name, options]) =>
      resolveRelation(name, from, options, served)
    );
    // A declared relation replaces a derived one of the same name.
    const all = [...derived, ...declared].map((relation) => [relation.name, relation] as const);
    return [from.definition, new Map(all)] as const;
  }));
}

function resolveRelation(
  name: string,
  from: ServedTable,
  options: RelationOptions,
  served: readonly ServedTable[],
): Relation {
  const owner = from.table;
  const fault = (message: string) =>
    new Error(`Cannot relate "${owner.name}" by relations.${name}: ${message}`);
  requireName(name, from, fault);
  const tables = served.map(({ table }) => table);
  const target = typeof options.resource === "string"
    ? tables.find((table) => table.name === options.resource)
    : requireTableInfo(options.resource);
  if (target === undefined) throw fault(`no resource serves the table "${options.resource}"`);
  const relation: Relation = {
    name,
    owner,
    target,
    type: options.type,
    filterable: options.filterable ?? false,
    toMany: options.type === "hasMany" || options.type === "manyToMany",
    steps: stepsOf(options, { owner, target, fault }),
  };
  for (const { table, own, other } of relation.steps) {
    const elsewhere = served.find((one) => one.table === table);
    if (elsewhere !== undefined && elsewhere.driver !== from.driver) {
      throw fault(`"${table.name}" is served from another database`);
    }
    if (canRelate(own, other)) continue;
    throw fault(
      `"${own.name}" (${own.kind}) and "${other.name}" (${other.kind}) cannot be equal: a relation ` +
        "takes two columns of one kind, and none that is real, json or bytes",
    );
  }
  return relation;
}

/** Has a character of the syntax of `include` or dotted names, or would set a prototype. */
const unusableName = /[,.;()]|^\s|\s$|^$|^__proto__$/;

function requireName(
  name: string,
  { table, definition }: ServedTable,
  fault: (message: string) => Error,
): void {
  if (table.byName.has(name)) throw fault("a column has this name");
  if (Object.hasOwn(definition.options.computed ?? {}, name)) {
    throw fault("a computed field has this name");
  }
  if (unusableName.test(name)) throw fault("a name must not hold , . ; ( or )");
}

interface Ends {
  readonly owner: TableInfo;
  readonly target: TableInfo;
  readonly fault: (message: string) => Error;
}

function stepsOf(options: RelationOptions, ends: Ends): Relation["steps"] {
  const { owner, target, fault } = ends;
  const { type, foreignKey, references, through } = options;
  const column = (
    reference: ColumnLike<unknown> | string | undefined,
    table: TableInfo,
  ): ColumnInfo =>
    reference === undefined ? loneKey(table, fault) : findColumn(reference, table, fault);
  switch (type) {
    case "belongsTo":
      return [{
        table: target,
        own: column(foreignKey, owner),
        other: column(references, target),
      }];
    case "hasOne":
    case "hasMany":
      return [{ table: target, own: column(references, owner), other: column(foreignKey, target) }];
    case "manyToMany": {
      if (through === undefined || references === undefined) {
        throw fault("manyToMany needs through and references");
      }
      const link = requireTableInfo(through);
      return [
        { table: link, own: column(undefined, owner), other: column(foreignKey, link) },
        { table: target, own: column(references, link), other: column(undefined, target) },
      ];
    }
    default: {
      const never: never = type;
      throw fault(`its type is ${never}`);
    }
  }
}

function findColumn(
  reference: ColumnLike<unknown> | string,
  table: TableInfo,
  fault: (message: string) => Error,
): ColumnInfo {
  const found = typeof reference === "string"
    ? table.byName.get(reference)
    : table.columns.find((known) => known === columnInfoOf(reference));
  if (found === undefined) throw fault(`its column is none of "${table.name}"`);
  return found;
}

function loneKey(table: TableInfo, fault: (message: string) => Error): ColumnInfo {
  const [key, second] = table.primaryKey;
  if (key === undefined || second !== undefined) {
    const keys = key === undefined ? "no key" : "a key of several columns";
    throw fault(`"${table.name}" has ${keys}: name the column in references`);
  }
  return key;
}
