import { keyId } from "../../plan/key.ts";
import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { batchTooLarge } from "./batch_items.ts";
import type {
  EmbeddedRows,
  ForeignKeySource,
  NestedRow,
  NestedRows,
  RowsStep,
} from "./nested_rows.ts";
import {
  InvalidFields,
  type OtherMembers,
  ownMember,
  parseColumns,
  parseKeyFields,
  requireObject,
} from "./parse_fields.ts";
import { atBodyPath, type BodyPath, pathInside, within } from "./body_path.ts";
import type { Resource } from "../define/resource.ts";

/** The part of a body to parse a row from, and the sources of the row's foreign keys. */
export interface RowSource {
  readonly body: unknown;
  readonly bodyPath: BodyPath;
  readonly foreignKeySources?: readonly ForeignKeySource[];
}

/**
 * Parses rows to create, and the rows nested in them where `nestedWrites` allows it. All rows of
 * one relation become one step, whatever rows they are embedded in. Throws a 422 that names the
 * path, and a 400 for too many rows.
 */
export function parseNestedRows(sources: readonly RowSource[], resource: Resource): NestedRows {
  const state: ParseState = {
    steps: [],
    count: 0,
    maxRows: embeddedPerItem * resource.batch.create,
    depth: 0,
  };
  const rows = parseLevel(sources, resource, state);
  return { resource, rows, steps: state.steps };
}

/** How deep rows may be embedded in others. */
const maxLevels = 3;

/** A body may embed this many rows for each item that a batch may hold. */
export const embeddedPerItem = 10;

interface ParseState {
  readonly steps: RowsStep[];
  readonly maxRows: number;
  /** The number of embedded rows so far. */
  count: number;
  /** How deep the rows being parsed are embedded. */
  depth: number;
}

/** A row that is not parsed completely, and the values of its body under the names of relations. */
interface DraftRow extends NestedRow {
  readonly foreignKeySources: ForeignKeySource[];
  readonly embedded: EmbeddedRows[];
  readonly nested: ReadonlyMap<string, unknown>;
}

/** The part of a body that holds a row embedded in another one. */
interface EmbeddedSource extends RowSource {
  readonly around: DraftRow;
}

function parseLevel(
  sources: readonly RowSource[],
  resource: Resource,
  state: ParseState,
): readonly DraftRow[] {
  const drafts = sources.map((source) => within(source.bodyPath, () => draftOf(source, resource)));
  if (drafts.every(({ nested }) => nested.size === 0)) {
    state.steps.push({ kind: "create", resource, rows: drafts });
    return drafts;
  }
  state.depth++;
  const relations = [...resource.relations.values()];
  // The rows that a row refers to are created before it, the rows that refer to it after.
  for (const relation of relations.filter(({ type }) => type === "belongsTo")) {
    parseRelation(relation, drafts, resource, state);
  }
  state.steps.push({ kind: "create", resource, rows: drafts });
  for (const relation of relations.filter(({ type }) => type !== "belongsTo")) {
    parseRelation(relation, drafts, resource, state);
  }
  state.depth--;
  return drafts;
}

function draftOf(
  { body, bodyPath, foreignKeySources = [] }: RowSource,
  resource: Resource,
): DraftRow {
  const nested = nestedIn(body, resource);
  const given = parseColumns(body, resource, nested);
  for (const { column } of foreignKeySources) {
    if (given.has(column)) throw fault(column.name, "follows from the row around: leave it out");
  }
  return {
    bodyPath,
    given,
    foreignKeySources: [...foreignKeySources],
    embedded: [],
    nested,
  };
}

const nothing: ReadonlyMap<string, unknown> & OtherMembers = Object.freeze(new Map());

/** The values in a body under the names of relations. */
function nestedIn(
  body: unknown,
  { nestedWrites, relations }: Resource,
): ReadonlyMap<string, unknown> {
  if (!nestedWrites) return nothing;
  const around = requireObject(body);
  const names = [...relations.keys()].filter((name) => Object.hasOwn(around, name));
  if (names.length === 0) return nothing;
  return new Map(names.map((name) => [name, ownMember(around, name)]));
}

/** Parses the rows embedded under one name in any of the drafts, and adds them to the drafts. */
function parseRelation(
  relation: Relation,
  drafts: readonly DraftRow[],
  resource: Resource,
  state: ParseState,
): void {
  const around = drafts.filter(({ nested }) => nested.has(relation.name));
  const [first] = around;
  if (first === undefined) return;
  const target = targetOf(relation, resource);
  if (target === null || state.depth > maxLevels) {
    const words = target === null
      ? "cannot be embedded: its rows are not created here"
      : `is embedded too deep: ${maxLevels} levels are allowed`;
    throw atBodyPath(fault(relation.name, words), first.bodyPath);
  }
  const sources = around.flatMap((draft) =>
    within(draft.bodyPath, () => sourcesIn(draft, relation, target, state))
  );
  const rows = relation.type === "manyToMany"
    ? parseLinkedRows(sources, relation, target, state)
    : parseCreatedRows(sources, target, state);
  const byDraft = Map.groupBy(rows, (_row, index) => sources[index]?.around);
  for (const draft of around) {
    const own = byDraft.get(draft) ?? [];
    draft.embedded.push({ relation, target, rows: own });
    if (relation.type !== "belongsTo") continue;
    const [{ pairs }] = relation.steps;
    draft.foreignKeySources.push(
      ...own.flatMap((from) =>
        pairs.map(({ own, other }) => ({ column: own, from, source: other }))
      ),
    );
  }
}

/** Null where no resource serves the related rows, or links to them cannot be created. */
function targetOf({ target, type, steps: [step] }: Relation, resource: Resource): Resource | null {
  const link = type === "manyToMany" ? resource.resourceOf(step.table) : undefined;
  const isLinkable = link === undefined || link.capabilities.enableCreate;
  return isLinkable ? resource.resourceOf(target) ?? null : null;
}

/** The sources of the rows embedded in a draft under one name, counted before they are parsed. */
function sourcesIn(
  draft: DraftRow,
  relation: Relation,
  target: Resource,
  state: ParseState,
): readonly EmbeddedSource[] {
  const { name, toMany, type } = relation;
  const value = draft.nested.get(name);
  if (toMany && !Array.isArray(value)) throw fault(name, "must be a list of objects");
  const bodies: readonly unknown[] = toMany && Array.isArray(value) ? value : [value];
  const limit = target.batch.create;
  if (bodies.length > limit) throw batchTooLarge(limit, `${name} holds more rows`);
  state.count += bodies.length;
  if (state.count > state.maxRows) throw batchTooLarge(state.maxRows, "it embeds more rows");
  const [{ pairs }] = relation.steps;
  for (const { own } of type === "belongsTo" ? pairs : []) requireOpen(own, draft, name);
  const isChild = type === "hasOne" || type === "hasMany";
  const foreignKeySources = isChild
    ? pairs.map(({ own, other }) => ({ column: other, from: draft, source: own }))
    : [];
  return bodies.map((body, index) => {
    const inner = toMany ? `${name}.${index}` : name;
    if (typeof body !== "object" || body === null || Array.isArray(body)) {
      throw fault(inner, "must be an object");
    }
    return { body, bodyPath: pathInside(draft.bodyPath, inner), foreignKeySources, around: draft };
  });
}

/** Throws a 422 where the foreign key has another source already. */
function requireOpen(
  column: ColumnInfo,
  { given, foreignKeySources }: DraftRow,
  name: string,
): void {
  if (given.has(column)) throw fault(column.name, `follows from ${name}: leave it out`);
  if (foreignKeySources.some((foreignKeySource) => foreignKeySource.column === column)) {
    throw fault(name, "follows from another row of the body: leave it out");
  }
}

function parseCreatedRows(
  sources: readonly RowSource[],
  target: Resource,
  state: ParseState,
): readonly NestedRow[] {
  const [first] = sources;
  if (first === undefined) return [];
  if (target.capabilities.enableCreate) return parseLevel(sources, target, state);
  throw atBodyPath(fault("", "cannot be created here"), first.bodyPath);
}

/** A body that holds nothing but a key links an existing row; every other linked row is created. */
function parseLinkedRows(
  sources: readonly EmbeddedSource[],
  relation: Relation,
  target: Resource,
  state: ParseState,
): readonly NestedRow[] {
  const isKnown = ({ body }: RowSource) => isKey(body, target);
  const fresh = sources.filter((source) => !isKnown(source));
  const known = sources.filter(isKnown);
  const found = parseKeyRows(known, target);
  if (found.length > 0) state.steps.push({ kind: "find", resource: target, rows: found });
  const created = parseCreatedRows(fresh, target, state);
  const rows = new Map([
    ...created.map((row) => [row.bodyPath, row] as const),
    ...found.map((row) => [row.bodyPath, row] as const),
  ]);
  const linked = sources.flatMap(({ bodyPath, around }) => {
    const row = rows.get(bodyPath);
    return row === undefined ? [] : [{ around, row }];
  });
  if (linked.length > 0) {
    const links = linked.map(({ around, row }) => linkRow(around, row, relation));
    const link = target.resourceOf(relation.steps[0].table);
    state.steps.push(
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

/** The rows that bodies name by key. Throws a 422 where one list names a row twice. */
function parseKeyRows(sources: readonly EmbeddedSource[], target: Resource): readonly NestedRow[] {
  const seen = new Map<DraftRow, Map<string, BodyPath>>();
  return sources.map(({ body, bodyPath, around }) =>
    within(bodyPath, () => {
      const key = parseKeyFields(requireObject(body), target);
      const id = keyId(key, target.table);
      const named = seen.get(around) ?? new Map<string, BodyPath>();
      const earlier = named.get(id);
      if (earlier !== undefined) throw fault("", `names the same row as ${earlier.path}`);
      seen.set(around, named.set(id, bodyPath));
      const given = new Map(target.table.primaryKey.map((column, index) => [column, key[index]]));
      return { bodyPath, given, foreignKeySources: [], embedded: [] };
    })
  );
}

function linkRow(from: NestedRow, to: NestedRow, relation: Relation): NestedRow {
  const [near, far] = relation.steps;
  if (far === undefined) throw new Error(`The relation "${relation.name}" has no link table`);
  return {
    bodyPath: to.bodyPath,
    given: new Map(),
    foreignKeySources: [
      ...near.pairs.map(({ own, other }) => ({ column: other, from, source: own })),
      ...far.pairs.map(({ own, other }) => ({ column: own, from: to, source: other })),
    ],
    embedded: [],
  };
}

function fault(path: string, message: string): InvalidFields {
  return new InvalidFields([{ path, message }]);
}
