import { readColumnInfo } from "../schema/define.ts";
import type { Relation, Relations, RelationStep } from "../schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import type { AnyColumn, RelationOptions, ResourceDefinition } from "./definition.ts";
import { tableOf } from "./table_of.ts";

/** The relations that the resources of an app declare. Throws a plain Error for a wrong one. */
export function settleRelations(definitions: readonly ResourceDefinition[]): Relations {
  const tables = definitions.map(({ table }) => tableOf(table));
  return new Map(definitions.map(({ options }, index) => {
    // As many tables as definitions: they were made from them.
    const owner = tables[index] as TableInfo;
    const relations = Object.entries(options.relations ?? {}).map(([name, relation]) =>
      [name, settleRelation(name, owner, relation, tables)] as const
    );
    return [owner, new Map(relations)] as const;
  }));
}

function settleRelation(
  name: string,
  owner: TableInfo,
  options: RelationOptions,
  tables: readonly TableInfo[],
): Relation {
  const fault = (message: string) =>
    new Error(`Cannot relate "${owner.name}" by relations.${name}: ${message}`);
  if (owner.byName.has(name)) throw fault("a column has this name");
  const target = typeof options.resource === "string"
    ? tables.find((table) => table.name === options.resource)
    : tableOf(options.resource);
  if (target === undefined) throw fault(`no resource serves the table "${options.resource}"`);
  const column = (reference: AnyColumn | undefined, table: TableInfo): ColumnInfo => {
    if (reference === undefined) return loneKey(table, fault);
    const found = typeof reference === "string"
      ? table.byName.get(reference)
      : table.columns.find((known) => known === readColumnInfo(reference));
    if (found === undefined) throw fault(`its column is none of "${table.name}"`);
    return found;
  };
  return {
    name,
    owner,
    target,
    toMany: options.type === "hasMany" || options.type === "manyToMany",
    steps: stepsOf(options, owner, target, column),
  };
}

function stepsOf(
  options: RelationOptions,
  owner: TableInfo,
  target: TableInfo,
  column: (reference: AnyColumn | undefined, table: TableInfo) => ColumnInfo,
): readonly RelationStep[] {
  switch (options.type) {
    case "belongsTo":
      return [{
        table: target,
        own: column(options.foreignKey, owner),
        other: column(options.references, target),
      }];
    case "hasOne":
    case "hasMany":
      return [{
        table: target,
        own: column(options.references, owner),
        other: column(options.foreignKey, target),
      }];
    case "manyToMany": {
      const link = tableOf(options.through);
      return [
        { table: link, own: column(undefined, owner), other: column(options.foreignKey, link) },
        { table: target, own: column(options.references, link), other: column(undefined, target) },
      ];
    }
    default: {
      const never: never = options;
      throw new Error(`No relation is of this type: ${JSON.stringify(never)}`);
    }
  }
}

function loneKey(table: TableInfo, fault: (message: string) => Error): ColumnInfo {
  const [key, second] = table.primaryKey;
  if (key === undefined || second !== undefined) {
    throw fault(`"${table.name}" has a key of several columns: name the column in references`);
  }
  return key;
}
