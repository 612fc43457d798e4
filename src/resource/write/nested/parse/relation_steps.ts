import { keyId } from "../../../../plan/key.ts";
import type { Relation } from "../../../../schema/relation.ts";
import type { ColumnInfo } from "../../../../schema/table_info.ts";
import type { Resource } from "../../../model/resource.ts";
import { atBodyPath, atPath } from "../../values/batch_items.ts";
import { invalidField } from "../../values/parse_fields.ts";
import {
  columnsToClear,
  keySourcesFrom,
  keySourcesTo,
  linkRow,
  mayChange,
  neverNullMessage,
} from "../foreign_keys.ts";
import type {
  EmbeddedRows,
  ForeignKeySource,
  NestedRow,
  RelationChange,
  RowsStep,
} from "../nested_rows.ts";
import { parseRowId } from "./parse_row_id.ts";
import type { BodyPart, RelationRequest } from "./parse_relation.ts";
import type { BodyPath } from "../../../model/operation.ts";

export interface RowSource extends BodyPart {
  readonly foreignKeySources?: readonly ForeignKeySource[];
}

export interface DraftRow extends NestedRow {
  readonly given: Map<ColumnInfo, unknown>;
  readonly foreignKeySources: ForeignKeySource[];
  readonly embedded: EmbeddedRows[];
  readonly nested: ReadonlyMap<string, unknown>;
  readonly isNew: boolean;
}

export interface RelationRequests {
  readonly relation: Relation;
  readonly target: Resource;
  readonly owner: Resource;
  readonly requests: readonly AskedByRow[];
  parseCreated(sources: readonly RowSource[]): readonly NestedRow[];
}

interface AskedByRow {
  readonly around: DraftRow;
  readonly request: RelationRequest;
}

/** Adds the writes of the rows of a `belongsTo`, before the writes of the enclosing rows. */
export function addParents(asked: RelationRequests, steps: RowsStep[]): void {
  const { relation, relation: { name, steps: [step] }, target, owner } = asked;
  for (const { around } of asked.requests) {
    atPath(around.bodyPath, () => requireOpen(around, step.own, name, owner));
  }
  const rows = addWanted(asked, steps);
  for (const { around, request } of asked.requests) {
    const own = rowsOf(request, rows);
    around.embedded.push({ relation, target, rows: own });
    for (const from of own) {
      around.foreignKeySources.push(
        ...keySourcesTo(from, step.pairs).map((source) => ({
          ...source,
          isFixed: isFixed(source.column, around, owner),
        })),
      );
    }
    if (request.removesOthers === null) continue;
    const cleared = columnsToClear(step.own, owner);
    if (cleared.length === 0) {
      throw atBodyPath(
        invalidField("cannot be removed: the row must have one"),
        request.removesOthers,
      );
    }
    for (const column of cleared) around.given.set(column, null);
  }
}

/** Adds the writes of the rows of a `hasOne` or `hasMany`, after the enclosing rows. */
export function addChildSteps(asked: RelationRequests, steps: RowsStep[]): void {
  const { relation, relation: { steps: [{ pairs }] }, target } = asked;
  const changes = asked.requests.map((one) => changeOf(one, asked));
  const written = changes.filter(isWriting);
  for (const change of written) requireWritableChildren(change, asked);
  requireOneParent(written, target);
  const checked = changes.filter((change) => isWriting(change) || change.requiresNone !== null);
  if (checked.length > 0) {
    steps.push({ kind: "relate", relation, target, written: target, changes: checked });
  }
  const created = asked.parseCreated(
    asked.requests.flatMap(({ around, request }) =>
      toCreate(request).map((source) => ({
        ...source,
        foreignKeySources: keySourcesFrom(around, pairs),
      }))
    ),
  );
  embed(asked, byPath([...changes.flatMap(({ connect }) => connect), ...created]));
}

/** Adds the writes of a `manyToMany`: first the related rows, then the links to them. */
export function addLinks(asked: RelationRequests, steps: RowsStep[]): void {
  const { relation, target } = asked;
  const link = target.served.get(relation.steps[0].table);
  const isNew = asked.requests.every(({ around }) => around.isNew);
  const changes = isNew ? [] : asked.requests.map((one) => changeOf(one, asked)).filter(isWriting);
  for (const change of changes) requireWritableLinks(change, link);
  if (changes.length > 0) {
    steps.push({ kind: "relate", relation, target, written: link ?? null, changes });
  }
  const rows = isNew ? addWanted(asked, steps) : byPath(
    asked.parseCreated(asked.requests.flatMap(({ request }) => toCreate(request))),
  );
  embed(asked, byPath([...changes.flatMap(({ connect }) => connect), ...rows.values()]));
  const links = asked.requests.flatMap(({ around, request }) =>
    rowsOf(request, rows).map((row) => linkRow(around, row, relation))
  );
  if (links.length === 0) return;
  steps.push(
    link === undefined
      ? { kind: "link", table: relation.steps[0].table, rows: links }
      : { kind: "create", resource: link, rows: links },
  );
}

function addWanted(asked: RelationRequests, steps: RowsStep[]): ReadonlyMap<BodyPath, NestedRow> {
  const { target } = asked;
  const found = asked.requests.flatMap(({ request }) => existingRows(request, target).connect);
  if (found.length > 0) steps.push({ kind: "find", resource: target, rows: found });
  const created = asked.parseCreated(asked.requests.flatMap(({ request }) => toCreate(request)));
  return byPath([...found, ...created]);
}

function toCreate({ wanted }: RelationRequest): readonly BodyPart[] {
  return wanted.filter(({ kind }) => kind === "create");
}

function byPath(rows: readonly NestedRow[]): ReadonlyMap<BodyPath, NestedRow> {
  return new Map(rows.map((row) => [row.bodyPath, row]));
}

function rowsOf(
  { wanted }: RelationRequest,
  rows: ReadonlyMap<BodyPath, NestedRow>,
): readonly NestedRow[] {
  return wanted.flatMap(({ bodyPath }) => rows.get(bodyPath) ?? []);
}

function embed(
  { relation, target, requests }: RelationRequests,
  rows: ReadonlyMap<BodyPath, NestedRow>,
): void {
  for (const { around, request } of requests) {
    around.embedded.push({ relation, target, rows: rowsOf(request, rows) });
  }
}

function changeOf(
  { around, request }: AskedByRow,
  { relation, target }: RelationRequests,
): RelationChange {
  const { removesOthers } = request;
  const [created = null] = toCreate(request);
  const isOnly = relation.type === "hasOne" && !around.isNew && removesOthers === null;
  return {
    ...{ around, removesOthers },
    ...existingRows(request, target),
    requiresNone: isOnly ? created?.bodyPath ?? null : null,
  };
}

function isWriting({ connect, disconnect, removesOthers }: RelationChange): boolean {
  return connect.length > 0 || disconnect.length > 0 || removesOthers !== null;
}

function existingRows(
  { wanted, disconnect }: RelationRequest,
  target: Resource,
): Pick<RelationChange, "connect" | "disconnect"> {
  const seen = new Map<string, BodyPath>();
  const connect: NestedRow[] = [];
  for (const part of wanted.filter(({ kind }) => kind === "connect")) {
    const [row, id] = namedRow(part, target);
    const earlier = seen.get(id);
    if (earlier === undefined) connect.push(row);
    // A row can be in both `set` and `connect`, but not twice in one of these lists.
    else if (listOf(earlier) === listOf(part.bodyPath)) throw namedTwice(part.bodyPath, earlier);
    seen.set(id, part.bodyPath);
  }
  const removed = disconnect.map((part) => {
    const [row, id] = namedRow(part, target);
    const earlier = seen.get(id);
    if (earlier !== undefined) throw namedTwice(part.bodyPath, earlier);
    seen.set(id, part.bodyPath);
    return row;
  });
  return { connect, disconnect: removed };
}

function namedRow({ body, bodyPath }: BodyPart, target: Resource): readonly [NestedRow, string] {
  const key = atPath(bodyPath, () => parseRowId(body, target));
  const given = new Map(target.table.primaryKey.map((column, index) => [column, key[index]]));
  return [{ bodyPath, given, foreignKeySources: [], embedded: [] }, keyId(key, target.table)];
}

function listOf({ path }: BodyPath): string {
  return path.slice(0, path.lastIndexOf("."));
}

function namedTwice(bodyPath: BodyPath, earlier: BodyPath): unknown {
  return atBodyPath(invalidField(`names the same row as ${earlier.path}`), bodyPath);
}

function requireOpen(
  around: DraftRow,
  columns: readonly ColumnInfo[],
  name: string,
  owner: Resource,
): void {
  const { given, foreignKeySources } = around;
  for (const column of columns) {
    if (isFixed(column, around, owner)) continue;
    if (given.has(column)) throw invalidField(`follows from ${name}: leave it out`, column.name);
    if (foreignKeySources.some((source) => source.column === column)) {
      throw invalidField("follows from another row of the body: leave it out", name);
    }
  }
  if (columns.every((column) => isFixed(column, around, owner))) {
    throw invalidField("cannot be changed: no body may change its foreign key", name);
  }
}

function isFixed(column: ColumnInfo, { isNew }: DraftRow, owner: Resource): boolean {
  return !isNew && !mayChange(column, owner);
}

function requireWritableChildren(
  change: RelationChange,
  { relation, target }: RelationRequests,
): void {
  const columns = relation.steps[0].other;
  const place = change.connect[0]?.bodyPath ?? change.disconnect[0]?.bodyPath ??
    change.removesOthers ?? change.around.bodyPath;
  if (!target.capabilities.enableUpdate) {
    throw atBodyPath(invalidField("cannot be changed here"), place);
  }
  if (!columns.some((column) => mayChange(column, target))) {
    throw atBodyPath(invalidField("cannot be changed: no body may change its foreign key"), place);
  }
  const [removed] = change.disconnect;
  if (removed === undefined || columnsToClear(columns, target).length > 0) return;
  throw atBodyPath(invalidField(neverNullMessage), removed.bodyPath);
}

function requireOneParent(changes: readonly RelationChange[], { table }: Resource): void {
  const seen = new Map<string, BodyPath>();
  for (const { given, bodyPath } of changes.flatMap(({ connect }) => connect)) {
    const id = keyId(table.primaryKey.map((column) => given.get(column)), table);
    const earlier = seen.get(id);
    if (earlier !== undefined) throw namedTwice(bodyPath, earlier);
    seen.set(id, bodyPath);
  }
}

function requireWritableLinks(change: RelationChange, link: Resource | undefined): void {
  if (link === undefined) return;
  const { capabilities: { enableCreate, enableDelete } } = link;
  const [connected] = change.connect;
  if (connected !== undefined && !enableCreate) {
    throw atBodyPath(
      invalidField("cannot be linked: no links are created here"),
      connected.bodyPath,
    );
  }
  const removed = change.disconnect[0]?.bodyPath ?? change.removesOthers;
  if (removed === null || enableDelete) return;
  throw atBodyPath(invalidField("cannot be unlinked: no links are deleted here"), removed);
}
