import { all } from "../../../../src/filter/builders.ts";
import { rsql } from "../../../../src/filter/filter_text.ts";
import { procedure } from "../../../../src/resource/model/procedure.ts";
import {
  resource,
  type ResourceDefinition,
} from "../../../../src/resource/define/resource_definition.ts";
import { z } from "zod";
import type { WorldOptions } from "./options.ts";
import type { Row, State } from "./history.ts";
import { items, itemTags, notes, type Place, projects, tags } from "./tables.ts";

/** The callers. `root` may see everything, and all of them may write. */
export const users = ["u1", "u2", "u3", "root"] as const;
/** One of them. */
export type UserName = typeof users[number];

/** What decides about rights to items. */
export type ScopeKind = WorldOptions["scope"];

/**
 * Whether a user may see a row as a table has it at a moment: what the scopes below say, once
 * more and by hand.
 */
export function maySee(
  user: UserName,
  { place, row, state, scope }: {
    readonly place: Place;
    readonly row: Row;
    readonly state: State;
    readonly scope: ScopeKind;
  },
): boolean {
  if (user === "root") return true;
  switch (place) {
    case "projects":
      return row["ownerId"] === user;
    case "tags":
    case "itemTags":
      return row["visibleTo"] === user || row["visibleTo"] === null;
    case "items":
      return maySeeItem(user, row, state, scope);
    case "notes": {
      if (scope === "own") return row["visibleTo"] === user || row["visibleTo"] === null;
      const item = state.items.get(Number(row["itemId"]));
      return row["itemId"] !== null && item !== undefined && isOfProject(user, item, state);
    }
  }
}

function maySeeItem(user: UserName, row: Row, state: State, scope: ScopeKind): boolean {
  if (scope === "own") return row["ownerId"] === user || row["ownerId"] === null;
  if (isOfProject(user, row, state)) return true;
  return scope === "mixed" && row["ownerId"] === user;
}

function isOfProject(user: UserName, item: Row, state: State): boolean {
  if (item["projectId"] === null) return false;
  return state.projects.get(Number(item["projectId"]))?.["ownerId"] === user;
}

/** The tables as they are served. */
export function definitions(
  { scope, links }: Pick<WorldOptions, "scope" | "links">,
): readonly ResourceDefinition[] {
  const authOf = (place: Place) => {
    const rows = ({ id }: { readonly id: string }) => scopeOf(id, place, scope);
    return {
      ...{ create: () => all(), update: () => all(), delete: () => all() },
      ...{ read: rows, subscribe: rows },
    };
  };
  const { id, projectId, ownerId, title, score, size, price, flag, far, slot } = items;
  const served = [
    resource(projects, {
      id: projects.id,
      auth: authOf("projects"),
      relations: { items: { type: "hasMany", resource: items, foreignKey: items.projectId } },
    }),
    resource(items, {
      id: items.id,
      auth: authOf("items"),
      fields: { readable: [id, projectId, ownerId, title, score, size, price, flag, far, slot] },
      procedures: { sql: anySql },
      relations: {
        project: { type: "belongsTo", resource: projects, foreignKey: items.projectId },
        notes: { type: "hasMany", resource: notes, foreignKey: notes.itemId },
        tags: {
          type: "manyToMany",
          resource: tags,
          through: itemTags,
          foreignKey: itemTags.itemId,
          references: itemTags.tagId,
        },
      },
    }),
    resource(notes, {
      id: notes.id,
      auth: authOf("notes"),
      relations: { item: { type: "belongsTo", resource: items, foreignKey: notes.itemId } },
    }),
    resource(tags, { id: tags.id, auth: authOf("tags") }),
  ];
  return links === "unserved"
    ? served
    : [...served, resource(itemTags, { id: itemTags.id, auth: authOf("itemTags") })];
}

/** Plain SQL on the handle of the service, as custom routes write. */
const anySql = procedure({
  input: z.object({ text: z.string() }),
  output: z.null(),
  handler: async ({ db }, { text }) => {
    await db.query({ text, values: [] });
    return null;
  },
});

function scopeOf(user: string, place: Place, scope: ScopeKind) {
  if (user === "root") return all();
  switch (place) {
    case "projects":
      return rsql`ownerId==${user}`;
    case "tags":
    case "itemTags":
      return rsql`visibleTo==${user},visibleTo==null`;
    case "items":
      if (scope === "own") return rsql`ownerId==${user},ownerId==null`;
      if (scope === "relation") return rsql`project.ownerId==${user}`;
      return rsql`ownerId==${user},project.ownerId==${user}`;
    case "notes":
      return scope === "own"
        ? rsql`visibleTo==${user},visibleTo==null`
        : rsql`item.project.ownerId==${user}`;
  }
}
