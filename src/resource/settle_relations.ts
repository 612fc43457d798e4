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
    type: options.type,
    filterable: options.filterable ?? false,
    toMany: options.type === "hasMany" || options.type === "manyToMany",
    steps: stepsOf(options, { owner, target, column, fault }),
  };
}

interface Ends {
  readonly owner: TableInfo;
  readonly target: TableInfo;
  readonly column: (reference: AnyColumn | undefined, table: TableInfo) => ColumnInfo;
  readonly fault: (message: string) => Error;
}

function stepsOf(options: RelationOptions, ends: Ends): readonly RelationStep[] {
  const { owner, target, column, fault } = ends;
  const { type, foreignKey, references, through } = options;
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
      const link = tableOf(through);
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

function loneKey(table: TableInfo, fault: (message: string) => Error): ColumnInfo {
  const [key, second] = table.primaryKey;
  if (key === undefined || second !== undefined) {
    throw fault(`"${table.name}" has a key of several columns: name the column in references`);
  }
  return key;
}
