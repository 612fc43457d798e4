import { columnInfoOf, isColumn } from "../../schema/table_like.ts";
import { canRelate, type Relation } from "../../schema/relation.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { ServedTable } from "./resource_definition.ts";

/**
 * Derives relations from foreign keys: to one for each key of the table, to many for each key that
 * refers to it from a served table of the same database. Left out are keys of several columns, keys
 * whose column is not readable, because a relation would reveal it, and names that no request could
 * contain.
 */
export function deriveRelations(
  from: ServedTable,
  served: readonly ServedTable[],
): readonly Relation[] {
  // Of a table that is served twice, relations lead to the first resource, and so do foreign keys.
  const others = served.filter((one, index) =>
    one.driver === from.driver && served.findIndex(({ table }) => table === one.table) === index
  );
  const candidates = [
    ...others.flatMap((other) => foreignKeys(from, other).map((key) => toOne(from, other, key))),
    ...others.flatMap((other) => foreignKeys(other, from).map((key) => toMany(from, other, key))),
  ];
  const { table, definition } = from;
  // Its own name does not distinguish the two directions of a key within one table.
  const taken = [...table.byName.keys(), ...Object.keys(definition.options.computed ?? {})];
  const names = unambiguous(candidates, [...taken, table.name]);
  return candidates.flatMap(({ relation }, index) => {
    const name = names[index] ?? null;
    return name === null ? [] : [{ ...relation, name }];
  });
}

interface Candidate {
  readonly relation: Omit<Relation, "name">;
  readonly name: string;
  /** Used when the name is taken. */
  readonly longName: string;
}

/** A foreign key of one column: the column that has it, and the one that it refers to. */
interface LoneKey {
  readonly own: ColumnInfo;
  readonly other: ColumnInfo;
}

function foreignKeys(from: ServedTable, to: ServedTable): readonly LoneKey[] {
  if (from.table.schema !== to.table.schema) return [];
  return from.table.foreignKeys.flatMap(({ columns, table, references }) => {
    if (table !== to.table.name || columns.length !== 1) return [];
    const own = from.table.columns.find(({ dbName }) => dbName === columns[0]);
    const other = to.table.columns.find(({ dbName }) => dbName === references[0]);
    const isWhole = own !== undefined && other !== undefined && canRelate(own, other);
    return isWhole && isReadable(own, from) ? [{ own, other }] : [];
  });
}

function isReadable(column: ColumnInfo, { definition }: ServedTable): boolean {
  const readable = definition.options.fields?.readable;
  return readable === undefined ||
    readable.some((reference) =>
      isColumn(reference) ? columnInfoOf(reference) === column : reference === column.name
    );
}

function toOne(from: ServedTable, to: ServedTable, { own, other }: LoneKey): Candidate {
  const name = own.name.replace(/(?<=.)(?:_id|Id)$/, "");
  return {
    relation: {
      owner: from.table,
      target: to.table,
      type: "belongsTo",
      filterable: false,
      toMany: false,
      steps: [{ table: to.table, own, other }],
    },
    name: writable(name),
    longName: writable(`${name}To${capitalised(to.table.name)}`),
  };
}

function toMany(from: ServedTable, other: ServedTable, key: LoneKey): Candidate {
  return {
    relation: {
      owner: from.table,
      target: other.table,
      type: "hasMany",
      filterable: false,
      toMany: true,
      steps: [{ table: other.table, own: key.other, other: key.own }],
    },
    name: writable(other.table.name),
    longName: writable(`${other.table.name}By${capitalised(key.own.name)}`),
  };
}

/** Without the characters that separate names in `include` and in filters. */
function writable(name: string): string {
  return name.replaceAll(/[,.;()]/g, "_").trim();
}

function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** The short name where it is free, else the long one for every candidate: no order decides. */
function unambiguous(
  candidates: readonly Candidate[],
  taken: readonly string[],
): readonly (string | null)[] {
  const isLone = (name: string, names: readonly string[]) =>
    names.filter((other) => other === name).length === 1;
  const short = [...taken, ...candidates.map(({ name }) => name)];
  const names = candidates.map(({ name, longName }) => isLone(name, short) ? name : longName);
  const all = [...taken, ...names];
  return names.map((name) => isLone(name, all) && name !== "__proto__" ? name : null);
}
