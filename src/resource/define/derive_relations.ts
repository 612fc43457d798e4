import { columnInfoOf, isColumn } from "../../schema/table_like.ts";
import { fixedListOrNull } from "./resolve_field_lists.ts";
import {
  canRelate,
  type ColumnPairs,
  type Relation,
  type RelationStep,
  relationStep,
  reversedPairs,
} from "../../schema/relation.ts";
import {
  chooseNames,
  type ForeignKeyNames,
  isNamedAfterTable,
  type NameChoices,
  namesThrough,
  namesToMany,
  namesToOne,
} from "../../schema/relation_names.ts";
import {
  type ColumnInfo,
  type ForeignKey,
  refersTo,
  type TableInfo,
} from "../../schema/table_info.ts";
import type { ServedTable } from "./resource_definition.ts";

/** Derives relations from readable foreign keys. Omits a relation if all its names are taken. */
export function deriveRelations(
  from: ServedTable,
  served: readonly ServedTable[],
  filterable: boolean,
): readonly Relation[] {
  // If several resources serve a table, relations and foreign keys lead to the first resource.
  const others = served.filter((one, index) =>
    one.driver === from.driver && served.findIndex(({ table }) => table === one.table) === index
  );
  const keysInto = others.flatMap((other) => foreignKeys(other, [from]));
  const groups = [
    foreignKeys(from, others).map((key): Candidate => ({
      relation: { target: key.to.table, type: "belongsTo", toMany: false, steps: [stepAlong(key)] },
      names: namesToOne(key.named),
    })),
    ...manyGroups(keysInto),
    keysInto.flatMap((key) => throughLink(key, others)),
  ];
  const { table, definition } = from;
  const names = chooseNames(groups, [
    ...table.byName.keys(),
    ...Object.keys(definition.options.computed ?? {}),
    // The relations of a self-reference in both directions could have this name, so none has it.
    table.name,
    "__proto__",
  ]);
  return groups.flat().flatMap((one) => {
    const name = names.get(one);
    return name === undefined ? [] : [{ ...one.relation, name, owner: table, filterable }];
  });
}

/**
 * Groups relations to many rows. Relations of an earlier group choose their names first. Foreign
 * keys within one schema come first, and among them the keys named after the referenced table.
 */
function manyGroups(keys: readonly ServedKey[]): readonly (readonly Candidate[])[] {
  const isNear = ({ from, to }: ServedKey) => from.table.schema === to.table.schema;
  return [keys.filter(isNear), keys.filter((key) => !isNear(key))].flatMap((some) => [
    some.filter(({ named }) => isNamedAfterTable(named)).map(toMany),
    some.filter(({ named }) => !isNamedAfterTable(named)).map(toMany),
  ]);
}

interface Candidate {
  readonly relation: Omit<Relation, "name" | "owner" | "filterable">;
  readonly names: NameChoices;
}

interface ServedKey {
  readonly from: ServedTable;
  readonly to: ServedTable;
  readonly index: number;
  readonly pairs: ColumnPairs;
  readonly named: ForeignKeyNames;
}

function foreignKeys(from: ServedTable, targets: readonly ServedTable[]): readonly ServedKey[] {
  return from.table.foreignKeys.flatMap((key, index) =>
    targets.flatMap((to) => {
      if (!refersTo(key, to.table)) return [];
      const pairs = readablePairs(key, from, to);
      if (pairs === null) return [];
      const named = {
        columns: pairs.map(({ own }) => own.name),
        references: pairs.map(({ other }) => other.name),
        from: nameFrom(to.table, from.table),
        to: nameFrom(from.table, to.table),
      };
      return [{ from, to, index, pairs, named }];
    })
  );
}

/** Returns the key's pairs of columns. Null if a relation cannot use them or would reveal one. */
function readablePairs(key: ForeignKey, from: ServedTable, to: ServedTable): ColumnPairs | null {
  const pairs = key.columns.flatMap((name, index) => {
    const own = from.table.columns.find(({ dbName }) => dbName === name);
    const other = to.table.columns.find(({ dbName }) => dbName === key.references[index]);
    const isPair = own !== undefined && other !== undefined && canRelate(own, other) &&
      isReadable(own, from);
    return isPair ? [{ own, other }] : [];
  });
  const [first, ...more] = pairs;
  return first === undefined || pairs.length < key.columns.length ? null : [first, ...more];
}

/** Returns `schema_name`, or only the name in the default schema or in the schema of `viewer`. */
function nameFrom(viewer: TableInfo, { schema, name, label }: TableInfo): string {
  return schema === null || schema === viewer.schema || label === name ? name : `${schema}_${name}`;
}

function isReadable(column: ColumnInfo, { definition }: ServedTable): boolean {
  const readable = definition.options.fields?.readable;
  const isNamed = readable === undefined
    ? null
    : fixedListOrNull(readable, (list) =>
      list.some((reference) =>
        isColumn(reference) ? columnInfoOf(reference) === column : reference === column.name
      ));
  return isNamed ?? true;
}

function toMany(key: ServedKey): Candidate {
  return {
    relation: { target: key.from.table, type: "hasMany", toMany: true, steps: [stepAgainst(key)] },
    names: namesToMany(key.named),
  };
}

function throughLink(near: ServedKey, others: readonly ServedTable[]): readonly Candidate[] {
  const link = near.from;
  const far = foreignKeys(link, others).find(({ index }) => index !== near.index);
  if (
    far === undefined ||
    !isPureLink(link.table, stepAlong(near).own, stepAlong(far).own)
  ) {
    return [];
  }
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

/** Returns true if a table only links two tables: other columns are timestamps or generated. */
function isPureLink(
  { primaryKey, columns, foreignKeys }: TableInfo,
  near: readonly ColumnInfo[],
  far: readonly ColumnInfo[],
): boolean {
  const linked = new Set([...near, ...far]);
  const hasBoth = near.some((column) => !far.includes(column)) &&
    far.some((column) => !near.includes(column));
  return foreignKeys.length === 2 && hasBoth && primaryKey.length === linked.size &&
    columns.every((column) =>
      linked.has(column)
        ? primaryKey.includes(column)
        : column.kind === "timestamp" || column.generated
    );
}

function stepAlong({ to, pairs }: ServedKey): RelationStep {
  return relationStep(to.table, pairs);
}

function stepAgainst({ from, pairs }: ServedKey): RelationStep {
  return relationStep(from.table, reversedPairs(pairs));
}
