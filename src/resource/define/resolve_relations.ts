import type { Driver } from "../../db/driver.ts";
import { columnInfoOf } from "../../schema/table_like.ts";
import {
  canRelate,
  type ColumnPairs,
  type Relation,
  type Relations,
  relationStep,
} from "../../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { RelationOptions } from "../model/resource_options.ts";
import {
  requireTableInfo,
  type ResourceDefinition,
  type ServedTable,
} from "./resource_definition.ts";
import { deriveRelations } from "./derive_relations.ts";

/**
 * Resolves the relations of all resources: declared ones, and those that foreign keys imply.
 * Definitions without `db` use `driver`. Throws a plain Error for an invalid declaration.
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
    const { relations = {}, autoRelations = !from.table.declared } = from.definition.options;
    const { filterable = false } = typeof autoRelations === "object" ? autoRelations : {};
    const derived = autoRelations === false ? [] : deriveRelations(from, served, filterable);
    const declared = Object.entries(relations).map(([name, options]) =>
      resolveRelation(name, from, options, served)
    );
    // A declared relation overrides a derived relation of the same name.
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
    ? tables.find((table) => table.label === options.resource)
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
  for (const { table, pairs } of relation.steps) {
    const elsewhere = served.find((one) => one.table === table);
    if (elsewhere !== undefined && elsewhere.driver !== from.driver) {
      throw fault(`"${table.name}" is served from another database`);
    }
    for (const { own, other } of pairs) {
      if (canRelate(own, other)) continue;
      throw fault(
        `"${own.name}" (${own.kind}) and "${other.name}" (${other.kind}) cannot be equal: a ` +
          "relation takes columns of one kind, and none that is real, json or bytes",
      );
    }
  }
  return relation;
}

/** Matches names with a dot, with syntax of `include`, and `__proto__`, which sets a prototype. */
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
  const step = (table: TableInfo, own: readonly ColumnInfo[], other: readonly ColumnInfo[]) =>
    relationStep(table, pairsOf(own, other, fault));
  const named = (reference: RelationOptions["foreignKey"] | undefined, table: TableInfo) =>
    reference === undefined ? table.primaryKey : findColumns(reference, table, fault);
  switch (type) {
    case "belongsTo":
      return [step(target, named(foreignKey, owner), named(references, target))];
    case "hasOne":
    case "hasMany":
      return [step(target, named(references, owner), named(foreignKey, target))];
    case "manyToMany": {
      if (through === undefined || references === undefined) {
        throw fault("manyToMany needs through and references");
      }
      const link = requireTableInfo(through);
      return [
        step(link, owner.primaryKey, named(foreignKey, link)),
        step(target, named(references, link), target.primaryKey),
      ];
    }
    default: {
      const never: never = type;
      throw fault(`its type is ${never}`);
    }
  }
}

function pairsOf(
  own: readonly ColumnInfo[],
  others: readonly ColumnInfo[],
  fault: (message: string) => Error,
): ColumnPairs {
  const pairs = own.flatMap((column, index) => {
    const other = others[index];
    return other === undefined ? [] : [{ own: column, other }];
  });
  const [first, ...more] = pairs;
  if (first !== undefined && pairs.length === own.length && own.length === others.length) {
    return [first, ...more];
  }
  const list = (columns: readonly ColumnInfo[]) =>
    columns.map(({ name }) => `"${name}"`).join(", ") || "none";
  throw fault(
    `it compares the columns ${list(own)} with ${
      list(others)
    }: foreignKey and references must be ` +
      "lists of as many, or of as many as the primary key has",
  );
}

function findColumns(
  references: RelationOptions["foreignKey"],
  table: TableInfo,
  fault: (message: string) => Error,
): readonly ColumnInfo[] {
  return [references].flat().map((reference) => {
    const found = typeof reference === "string"
      ? table.byName.get(reference)
      : table.columns.find((known) => known === columnInfoOf(reference));
    if (found === undefined) throw fault(`its column is none of "${table.name}"`);
    return found;
  });
}
