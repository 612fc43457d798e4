import { keyId } from "../../plan/key.ts";
import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { batchTooLarge } from "./read_rows_to_write.ts";
import type {
  EmbeddedRows,
  ForeignKeySource,
  NestedRow,
  NestedRows,
  RowsStep,
} from "./nested_rows.ts";
import { InvalidFields, parseColumns, parseKeyFields, requireObject } from "./parse_fields.ts";
import { atBodyPath, type BodyPath, pathInside, within } from "./body_path.ts";
import type { Resource } from "../define/resource.ts";

/** A piece of the body that tells a row, and where the row gets its foreign key from. */
export interface RowSource {
  readonly body: unknown;
  readonly place: BodyPath;
  readonly foreignKeySources?: readonly ForeignKeySource[];
}

/**
 * Reads rows to create, and those embedded in them where `nestedWrites` allows any. Rows of one
 * relation become one step, whatever rows they are embedded in. Throws a 422 that names the path,
 * and a 400 where there are too many.
 */
export function parseNestedRows(sources: readonly RowSource[], resource: Resource): NestedRows {
  const reading: Reading = {
    steps: [],
    count: 0,
    most: embeddedPerItem * resource.batch.create,
    depth: 0,
  };
  const rows = readLevel(sources, resource, reading);
  return { resource, rows, steps: reading.steps, count: rows.length + reading.count };
}

/** How deep rows may be embedded in others. */
const maxLevels = 3;

/** A whole body may embed this many rows for each item that a batch may have. */
const embeddedPerItem = 10;

interface Reading {
  readonly steps: RowsStep[];
  readonly most: number;
  /** The rows embedded so far. */
  count: number;
  /** How many rows stand around those that are read. */
  depth: number;
}

/** A row that is still being read, and what its body holds under the names of relations. */
interface Draft extends NestedRow {
  readonly foreignKeySources: ForeignKeySource[];
  readonly embedded: EmbeddedRows[];
  readonly nested: ReadonlyMap<string, unknown>;
}

/** A row that stands in another one. */
interface EmbeddedSource extends RowSource {
  readonly around: Draft;
}

function readLevel(
  sources: readonly RowSource[],
  resource: Resource,
  reading: Reading,
): readonly Draft[] {
  const drafts = sources.map((source) => within(source.place, () => draftOf(source, resource)));
  if (drafts.every(({ nested }) => nested.size === 0)) {
    reading.steps.push({ kind: "create", resource, rows: drafts });
    return drafts;
  }
  reading.depth++;
  const relations = [...resource.relations.values()];
  // Whom a row belongs to must be there before it; all others refer to it and come after.
  for (const relation of relations.filter(({ type }) => type === "belongsTo")) {
    readRelation(relation, drafts, resource, reading);
  }
  reading.steps.push({ kind: "create", resource, rows: drafts });
  for (const relation of relations.filter(({ type }) => type !== "belongsTo")) {
    readRelation(relation, drafts, resource, reading);
  }
  reading.depth--;
  return drafts;
}

function draftOf({ body, place, foreignKeySources = [] }: RowSource, resource: Resource): Draft {
  const { own, nested } = split(body, resource);
  const given = parseColumns(own, resource);
  for (const { column } of foreignKeySources) {
    if (given.has(column)) throw fault(column.name, "follows from the row around: leave it out");
  }
  return { place, given, foreignKeySources: [...foreignKeySources], embedded: [], nested };
}

const nothing: ReadonlyMap<string, unknown> = Object.freeze(new Map());

/** A body without the rows embedded in it, and these by the names of their relations. */
function split(
  body: unknown,
  { nestedWrites, relations }: Resource,
): { readonly own: unknown; readonly nested: ReadonlyMap<string, unknown> } {
  if (!nestedWrites) return { own: body, nested: nothing };
  const entries = Object.entries(requireObject(body));
  const nested = entries.filter(([name]) => relations.has(name));
  if (nested.length === 0) return { own: body, nested: nothing };
  const own = Object.fromEntries(entries.filter(([name]) => !relations.has(name)));
  return { own, nested: new Map(nested) };
}

/** Reads what stands under one name in any of the rows, and ties it to them. */
function readRelation(
  relation: Relation,
  drafts: readonly Draft[],
  resource: Resource,
  reading: Reading,
): void {
  const around = drafts.filter(({ nested }) => nested.has(relation.name));
  const [first] = around;
  if (first === undefined) return;
  const target = targetOf(relation, resource);
  if (target === null || reading.depth > maxLevels) {
    const words = target === null
      ? "cannot be embedded: its rows are not created here"
      : `is embedded too deep: ${maxLevels} levels are allowed`;
    throw atBodyPath(fault(relation.name, words), first.place);
  }
  const sources = around.flatMap((draft) =>
    within(draft.place, () => sourcesIn(draft, relation, target, reading))
  );
  const rows = relation.type === "manyToMany"
    ? readLinked(sources, relation, target, reading)
    : readCreated(sources, target, reading);
  const byDraft = Map.groupBy(rows, (_row, index) => sources[index]?.around);
  for (const draft of around) {
    const own = byDraft.get(draft) ?? [];
    draft.embedded.push({ relation, target, rows: own });
    if (relation.type !== "belongsTo") continue;
    const { own: column, other: source } = relation.steps[0];
    draft.foreignKeySources.push(...own.map((from) => ({ column, from, source })));
  }
}

/** Null where no resource serves the related rows, or links to them are not made. */
function targetOf({ target, type, steps: [step] }: Relation, resource: Resource): Resource | null {
  const link = type === "manyToMany" ? resource.resourceOf(step.table) : undefined;
  const isLinkable = link === undefined || link.capabilities.enableCreate;
  return isLinkable ? resource.resourceOf(target) ?? null : null;
}

/** The pieces of one row's body under the name of a relation, counted before they are looked at. */
function sourcesIn(
  draft: Draft,
  relation: Relation,
  target: Resource,
  reading: Reading,
): readonly EmbeddedSource[] {
  const { name, toMany, type } = relation;
  const value = draft.nested.get(name);
  if (toMany && !Array.isArray(value)) throw fault(name, "must be a list of objects");
  const bodies: readonly unknown[] = toMany && Array.isArray(value) ? value : [value];
  const limit = target.batch.create;
  if (bodies.length > limit) throw batchTooLarge(limit, `${name} holds more rows`);
  reading.count += bodies.length;
  if (reading.count > reading.most) throw batchTooLarge(reading.most, "it embeds more rows");
  const { own, other } = relation.steps[0];
  if (type === "belongsTo") requireOpen(own, draft, name);
  const isChild = type === "hasOne" || type === "hasMany";
  const foreignKeySources = isChild ? [{ column: other, from: draft, source: own }] : [];
  return bodies.map((body, index) => {
    const inner = toMany ? `${name}.${index}` : name;
    if (typeof body !== "object" || body === null || Array.isArray(body)) {
      throw fault(inner, "must be an object");
    }
    return { body, place: pathInside(draft.place, inner), foreignKeySources, around: draft };
  });
}

/** A foreign key has one source. */
function requireOpen(column: ColumnInfo, { given, foreignKeySources }: Draft, name: string): void {
  if (given.has(column)) throw fault(column.name, `follows from ${name}: leave it out`);
  if (foreignKeySources.some((foreignKeySource) => foreignKeySource.column === column)) {
    throw fault(name, "follows from another row of the body: leave it out");
  }
}

function readCreated(
  sources: readonly RowSource[],
  target: Resource,
  reading: Reading,
): readonly NestedRow[] {
  const [first] = sources;
  if (first === undefined) return [];
  if (target.capabilities.enableCreate) return readLevel(sources, target, reading);
  throw atBodyPath(fault("", "cannot be created here"), first.place);
}

/** What consists of a key is a row that is there; whatever else is to be linked is created. */
function readLinked(
  sources: readonly EmbeddedSource[],
  relation: Relation,
  target: Resource,
  reading: Reading,
): readonly NestedRow[] {
  const isKnown = ({ body }: RowSource) => isKey(body, target);
  const fresh = sources.filter((source) => !isKnown(source));
  const known = sources.filter(isKnown);
  const found = findRows(known, target);
  if (found.length > 0) reading.steps.push({ kind: "find", resource: target, rows: found });
  const created = readCreated(fresh, target, reading);
  const rows = new Map([
    ...created.map((row) => [row.place, row] as const),
    ...found.map((row) => [row.place, row] as const),
  ]);
  const linked = sources.flatMap(({ place, around }) => {
    const row = rows.get(place);
    return row === undefined ? [] : [{ around, row }];
  });
  if (linked.length > 0) {
    const links = linked.map(({ around, row }) => linkRow(around, row, relation));
    const link = target.resourceOf(relation.steps[0].table);
    reading.steps.push(
      link === undefined
        ? { kind: "link", table: relation.steps[0].table, rows: links }
        : { kind: "create", resource: link, rows: links },
    );
  }
  return linked.map(({ row }) => row);
}

function isKey(body: unknown, { table }: Resource): boolean {
  if (typeof body !== "object" || body === null) return false;
  return Object.keys(body).length === table.primaryKey.length &&
    table.primaryKey.every(({ name }) => Object.hasOwn(body, name));
}

/** Throws a 422 where one list names a row twice. */
function findRows(sources: readonly EmbeddedSource[], target: Resource): readonly NestedRow[] {
  const seen = new Map<Draft, Map<string, BodyPath>>();
  return sources.map(({ body, place, around }) =>
    within(place, () => {
      const key = parseKeyFields(requireObject(body), target);
      const id = keyId(key, target.table);
      const named = seen.get(around) ?? new Map<string, BodyPath>();
      const earlier = named.get(id);
      if (earlier !== undefined) throw fault("", `names the same row as ${earlier.path}`);
      seen.set(around, named.set(id, place));
      const given = new Map(target.table.primaryKey.map((column, index) => [column, key[index]]));
      return { place, given, foreignKeySources: [], embedded: [] };
    })
  );
}

function linkRow(from: NestedRow, to: NestedRow, relation: Relation): NestedRow {
  const [near, far] = relation.steps;
  if (far === undefined) throw new Error(`The relation "${relation.name}" has no link table`);
  return {
    place: to.place,
    given: new Map(),
    foreignKeySources: [
      { column: near.other, from, source: near.own },
      { column: far.own, from: to, source: far.other },
    ],
    embedded: [],
  };
}

function fault(path: string, message: string): InvalidFields {
  return new InvalidFields([{ path, message }]);
}
