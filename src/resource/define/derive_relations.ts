import { columnInfoOf, isColumn } from "../../schema/table_like.ts";
import { canRelate, type Relation, type RelationStep } from "../../schema/relation.ts";
import {
  chooseNames,
  isPlainKey,
  type NameChoices,
  type NamedKey,
  namesThrough,
  namesToMany,
  namesToOne,
} from "../../schema/relation_names.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { ServedTable } from "./resource_definition.ts";

/**
 * Derives relations from foreign keys, between served tables of one database: to one for each key
 * of the table, to many for each key that refers to it, and through link tables to the rows that
 * these link it with. Left out are keys of several columns, keys whose column is not readable,
 * because a relation would reveal it, and relations for which no name is free.
 */
export function deriveRelations(
  from: ServedTable,
  served: readonly ServedTable[],
  filterable: boolean,
): readonly Relation[] {
  // Of a table that is served twice, relations lead to the first resource, and so do foreign keys.
  const others = served.filter((one, index) =>
    one.driver === from.driver && served.findIndex(({ table }) => table === one.table) === index
  );
  const keysInto = others.flatMap((other) => foreignKeys(other, [from]));
  const groups = [
    foreignKeys(from, others).map(toOne),
    keysInto.filter(({ named }) => isPlainKey(named)).map(toMany),
    keysInto.filter(({ named }) => !isPlainKey(named)).map(toMany),
    keysInto.flatMap((key) => throughLink(key, others)),
  ];
  const { table, definition } = from;
  const names = chooseNames(groups, [
    ...table.byName.keys(),
    ...Object.keys(definition.options.computed ?? {}),
    // Its own name does not distinguish the two directions of a key within one table.
    // Its own name does not say in which direction a relation between its rows leads.
    table.name,
    "__proto__",
  ]);
  return groups.flat().flatMap((one) => {
    const name = names.get(one);
    return name === undefined ? [] : [{ ...one.relation, name, owner: table, filterable }];
  });
}

interface Candidate {
  readonly relation: Omit<Relation, "name" | "owner" | "filterable">;
  readonly names: NameChoices;
}

/** A foreign key of one column between two served tables. */
interface LoneKey {
  readonly from: ServedTable;
  readonly to: ServedTable;
  /** The column that has it. */
  readonly own: ColumnInfo;
  /** The column that it refers to. */
  readonly other: ColumnInfo;
  readonly named: NamedKey;
}

function foreignKeys(from: ServedTable, targets: readonly ServedTable[]): readonly LoneKey[] {
  return from.table.foreignKeys.flatMap(({ columns, table, references }) =>
    targets.flatMap((to) => {
      if (table !== to.table.name || from.table.schema !== to.table.schema) return [];
      if (columns.length !== 1) return [];
      const own = from.table.columns.find(({ dbName }) => dbName === columns[0]);
      const other = to.table.columns.find(({ dbName }) => dbName === references[0]);
      const isWhole = own !== undefined && other !== undefined && canRelate(own, other);
      if (!isWhole || !isReadable(own, from)) return [];
      const named = {
        columns: [own.name],
        references: [other.name],
        from: from.table.name,
        to: to.table.name,
      };
      return [{ from, to, own, other, named }];
    })
  );
}

function isReadable(column: ColumnInfo, { definition }: ServedTable): boolean {
  const readable = definition.options.fields?.readable;
  return readable === undefined ||
    readable.some((reference) =>
      isColumn(reference) ? columnInfoOf(reference) === column : reference === column.name
    );
}

function toOne(key: LoneKey): Candidate {
  return {
    relation: {
      target: key.to.table,
      type: "belongsTo",
      toMany: false,
      steps: [stepAlong(key)],
    },
    names: namesToOne(key.named),
  };
}

function toMany(key: LoneKey): Candidate {
  return {
    relation: {
      target: key.from.table,
      type: "hasMany",
      toMany: true,
      steps: [stepAgainst(key)],
    },
    names: namesToMany(key.named),
  };
}

/** The relation through the table that has the key, to where its other key leads. */
function throughLink(near: LoneKey, others: readonly ServedTable[]): readonly Candidate[] {
  const link = near.from;
  if (link.table.foreignKeys.length !== 2) return [];
  const far = foreignKeys(link, others).find(({ own }) => own !== near.own);
  if (far === undefined || !isPureLink(link.table, [near.own, far.own])) return [];
  return [{
    relation: {
      target: far.to.table,
      type: "manyToMany",
      toMany: true,
      steps: [stepAgainst(near), stepAlong(far)],
    },
    names: namesThrough(near.named, far.named),
  }];
}

/**
 * Whether the rows of a table say only that two others are linked: its key are the two foreign
 * keys, and there is nothing else but when that was. A quantity or a price says more.
 */
function isPureLink({ primaryKey, columns }: TableInfo, keys: readonly ColumnInfo[]): boolean {
  return primaryKey.length === keys.length && keys.every((column) => primaryKey.includes(column)) &&
    columns.every((column) =>
      primaryKey.includes(column) || column.kind === "timestamp" || column.generated
    );
}

function stepAlong({ to, own, other }: LoneKey): RelationStep {
  return { table: to.table, own, other };
}

function stepAgainst({ from, own, other }: LoneKey): RelationStep {
  return { table: from.table, own: other, other: own };
}
