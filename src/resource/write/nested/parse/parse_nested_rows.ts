import { databaseDefault } from "../../../../plan/plan.ts";
import type { ColumnInfo } from "../../../../schema/table_info.ts";
import type { Relation } from "../../../../schema/relation.ts";
import type { Resource } from "../../../model/resource.ts";
import { atBodyPath, atPath, batchTooLarge, wholeBody } from "../../values/batch_items.ts";
import {
  invalidField,
  ownMember,
  parseColumns,
  parseRowChanges,
  requireObject,
  type SeparateMembers,
} from "../../values/parse_fields.ts";
import type { NestedRows, RowsStep } from "../nested_rows.ts";
import { parseRelationRequest } from "./parse_relation.ts";
import {
  addChildSteps,
  addLinks,
  addParents,
  type DraftRow,
  type RelationRequests,
  type RowSource,
} from "./relation_steps.ts";
import { maxEmbeddedPerItem } from "../../../define/default_max_fields.ts";

/** Creates one step (a group of writes) for each relation, even if several rows contain it. */
export function parseNestedRows(sources: readonly RowSource[], resource: Resource): NestedRows {
  const state = newState(resource);
  const rows = parseLevel(sources, resource, state);
  return { resource, access: "create", rows, steps: state.steps };
}

/** Throws a 422, or a 400 for too many rows. For a PUT, `complete` adds the omitted columns. */
export function parseNestedChanges(
  body: unknown,
  resource: Resource,
  complete: (values: ReadonlyMap<ColumnInfo, unknown>) => ReadonlyMap<ColumnInfo, unknown>,
): NestedRows {
  const state = newState(resource);
  const nested = nestedIn(body, resource);
  const draft: DraftRow = {
    ...{ bodyPath: wholeBody, foreignKeySources: [], embedded: [], nested, isNew: false },
    given: new Map(parseRowChanges(body, resource, nested)),
  };
  writeLevel([draft], resource, state, () => {
    for (const { column, isFixed } of draft.foreignKeySources) {
      if (isFixed !== true) draft.given.set(column, databaseDefault);
    }
    for (const [column, value] of complete(draft.given)) draft.given.set(column, value);
    state.steps.push({ kind: "update", resource, rows: [draft] });
  });
  return { resource, access: "update", rows: [draft], steps: state.steps };
}

const maxLevels = 3;

interface ParseState {
  readonly steps: RowsStep[];
  readonly maxRows: number;
  count: number;
  depth: number;
}

function newState({ batch }: Resource): ParseState {
  return { steps: [], count: 0, maxRows: maxEmbeddedPerItem * batch.create, depth: 0 };
}

function parseLevel(
  sources: readonly RowSource[],
  resource: Resource,
  state: ParseState,
): readonly DraftRow[] {
  const drafts = sources.map((source) => atPath(source.bodyPath, () => draftOf(source, resource)));
  writeLevel(drafts, resource, state, () => {
    state.steps.push({ kind: "create", resource, rows: drafts });
  });
  return drafts;
}

function writeLevel(
  drafts: readonly DraftRow[],
  resource: Resource,
  state: ParseState,
  addOwn: () => void,
): void {
  if (drafts.every(({ nested }) => nested.size === 0)) return addOwn();
  state.depth++;
  const relations = [...resource.relations.values()];
  // A row is created after the rows that it refers to, and before the rows that refer to it.
  for (const relation of relations.filter(({ type }) => type === "belongsTo")) {
    parseRelation(relation, drafts, resource, state);
  }
  addOwn();
  for (const relation of relations.filter(({ type }) => type !== "belongsTo")) {
    parseRelation(relation, drafts, resource, state);
  }
  state.depth--;
}

function draftOf(
  { body, bodyPath, foreignKeySources = [] }: RowSource,
  resource: Resource,
): DraftRow {
  const nested = nestedIn(body, resource);
  const given = parseColumns(body, resource, nested);
  for (const { column } of foreignKeySources) {
    if (given.has(column)) {
      throw invalidField("follows from the row around: leave it out", column.name);
    }
  }
  return {
    bodyPath,
    given,
    foreignKeySources: [...foreignKeySources],
    embedded: [],
    nested,
    isNew: true,
  };
}

const nothing: ReadonlyMap<string, unknown> & SeparateMembers = Object.freeze(new Map());

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

function parseRelation(
  relation: Relation,
  drafts: readonly DraftRow[],
  resource: Resource,
  state: ParseState,
): void {
  const around = drafts.filter(({ nested }) => nested.has(relation.name));
  const [first] = around;
  if (first === undefined) return;
  const target = targetOf(relation, first, resource);
  if (target === null || state.depth > maxLevels) {
    const words = target === null
      ? "cannot be embedded: its rows are not created here"
      : `is embedded too deep: ${maxLevels} levels are allowed`;
    throw atBodyPath(invalidField(words, relation.name), first.bodyPath);
  }
  const asked: RelationRequests = {
    relation,
    target,
    owner: resource,
    requests: around.map((draft) => ({
      around: draft,
      request: atPath(draft.bodyPath, () => {
        const { nested, bodyPath, isNew } = draft;
        const value = nested.get(relation.name);
        const request = parseRelationRequest(value, { relation, target, bodyPath, isNew });
        state.count += request.wanted.length + request.disconnect.length;
        if (state.count > state.maxRows) throw batchTooLarge(state.maxRows, "it embeds more rows");
        return request;
      }),
    })),
    parseCreated: (sources) => {
      const [first] = sources;
      if (first === undefined) return [];
      if (target.capabilities.enableCreate) return parseLevel(sources, target, state);
      throw atBodyPath(invalidField("cannot be created here"), first.bodyPath);
    },
  };
  switch (relation.type) {
    case "belongsTo":
      return addParents(asked, state.steps);
    case "hasOne":
    case "hasMany":
      return addChildSteps(asked, state.steps);
    case "manyToMany":
      return addLinks(asked, state.steps);
  }
}

function targetOf(
  { target, type, steps: [step] }: Relation,
  { isNew }: DraftRow,
  resource: Resource,
): Resource | null {
  const link = type === "manyToMany" && isNew ? resource.served.get(step.table) : undefined;
  const isLinkable = link === undefined || link.capabilities.enableCreate;
  return isLinkable ? resource.served.get(target) ?? null : null;
}
