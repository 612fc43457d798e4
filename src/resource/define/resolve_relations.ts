import type { Driver } from "../../db/driver.ts";
import { columnInfoOf, type TableLike } from "../../schema/table_like.ts";
import {
  canRelate,
  type ColumnPairs,
  type Relation,
  type Relations,
  relationStep,
} from "../../schema/relation.ts";
import { type ColumnInfo, createTableInfo, type TableInfo } from "../../schema/table_info.ts";
import type { RelationOptions } from "../model/resource_options.ts";
import {
  requireTableInfo,
  type ResourceDefinition,
  type ServedTable,
} from "./resource_definition.ts";
import { deriveRelations } from "./derive_relations.ts";
import { isAny } from "../../schema/structured/structured_value.ts";
import type { CheckedDefinition } from "./check_resource_definition.ts";

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
    // A configured relation overrides a derived relation of the same name.
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

/** Matches names with syntax of `include`, and `__proto__`, which is a setter of objects. */
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
    reference === undefined ? table.primaryKey : [reference].flat().map((one) => {
      const found = typeof one === "string"
        ? table.byName.get(one)
        : table.columns.find((known) => known === columnInfoOf(one));
      if (found === undefined) throw fault(`its column is none of "${table.name}"`);
      return found;
    });
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

/** Sets `isWide` (for integers beyond 2^53) in columns that relations compare with such columns. */
export function widenReferences(
  definitions: readonly CheckedDefinition[],
  driver: Driver,
): readonly CheckedDefinition[] {
  const isWideAny = (column: ColumnInfo) => isAny(column) && column.isWide;
  const served = definitions.map(({ table }) => requireTableInfo(table));
  if (!served.some(({ columns }) => columns.some(isWideAny))) return definitions;
  const relations = [...resolveRelations(definitions, driver).values()]
    .flatMap((ofTable) => [...ofTable.values()]);
  const pairs = relations.flatMap(({ steps }) => steps.flatMap(({ pairs }) => pairs))
    .map(({ own, other }) => [own, other] as const)
    .filter((pair) => pair.every(isAny));
  const wide = new Set(pairs.flat().filter(isWideAny));
  for (let size = -1; size !== wide.size;) {
    size = wide.size;
    for (const pair of pairs) {
      if (pair.some((column) => wide.has(column))) pair.forEach((column) => wide.add(column));
    }
  }
  const tables = new Set([...served, ...relations.flatMap(({ steps }) => steps.map(tableOf))]);
  const replaced = new Map([...tables].map((table) => [table, withWide(table, wide)] as const));
  return definitions.map((definition) => withTables(definition, replaced));
}

function tableOf({ table }: { readonly table: TableInfo }): TableInfo {
  return table;
}

function withWide(table: TableInfo, wide: ReadonlySet<ColumnInfo>): TableInfo {
  if (!table.columns.some((column) => wide.has(column) && !column.isWide)) return table;
  const { primaryKey, engine, ...facts } = table;
  const columns = table.columns.map((column) =>
    wide.has(column) ? Object.freeze({ ...column, isWide: true }) : column
  );
  return createTableInfo({
    ...facts,
    ...(engine === null ? {} : { engine }),
    columns,
    primaryKey: primaryKey.flatMap((key) => columns.filter(({ name }) => name === key.name)),
  });
}

function withTables(
  { table, options, ...definition }: CheckedDefinition,
  replaced: ReadonlyMap<TableInfo, TableInfo>,
): CheckedDefinition {
  const replacing = <Table extends TableLike<unknown, unknown> | TableInfo>(given: Table) =>
    replaced.get(requireTableInfo(given)) ?? given;
  const { relations } = options;
  if (relations === undefined) return { ...definition, options, table: replacing(table) };
  const related = Object.entries(relations).map(([name, { resource, through, ...relation }]) => [
    name,
    {
      ...relation,
      resource: typeof resource === "string" ? resource : replacing(resource),
      ...(through === undefined ? {} : { through: replacing(through) }),
    },
  ]);
  return {
    ...definition,
    table: replacing(table),
    options: { ...options, relations: Object.fromEntries(related) },
  };
}
