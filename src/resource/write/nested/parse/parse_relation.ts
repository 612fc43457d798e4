import { didYouMean } from "../../../../problem/nearest_name.ts";
import type { Relation } from "../../../../schema/relation.ts";
import type { Resource } from "../../../model/resource.ts";
import { batchTooLarge, pathInside } from "../../values/batch_items.ts";
import { invalidField, ownMember } from "../../values/parse_fields.ts";
import { isKeyObject, isPlainObject } from "./parse_row_id.ts";
import type { BodyPath } from "../../../model/operation.ts";

export interface RelationRequest {
  readonly wanted: readonly IdOrNewRow[];
  readonly disconnect: readonly BodyPart[];
  readonly removesOthers: BodyPath | null;
}

export interface BodyPart {
  readonly body: unknown;
  readonly bodyPath: BodyPath;
}

export interface IdOrNewRow extends BodyPart {
  readonly kind: "connect" | "create";
}

export interface RelationContext {
  readonly relation: Relation;
  readonly target: Resource;
  readonly bodyPath: BodyPath;
  readonly isNew: boolean;
}

/**
 * For a new row, the value is the rows to create, or `{ connect, create }`. For an existing row, it
 * is `{ connect, disconnect, set, create }`. Paths in a 422 are relative to the enclosing row.
 */
export function parseRelationRequest(value: unknown, place: RelationContext): RelationRequest {
  const { relation, isNew } = place;
  if (isNew && !isMembers(value, place)) return parsePlain(value, place);
  if (!isPlainObject(value)) {
    throw invalidField(`must be an object with ${listed(membersFor(place))}`, relation.name);
  }
  const members = membersFor(place);
  for (const name of Object.keys(value)) {
    if (members.includes(name)) continue;
    const hint = didYouMean(name, members);
    throw invalidField(
      `is none of ${listed(members)}${hint}`,
      `${relation.name}.${name}`.slice(0, 100),
    );
  }
  return relation.toMany ? parseMany(value, place) : parseOne(value, place);
}

const members = ["connect", "disconnect", "set", "create"] as const;

function membersFor({ relation: { toMany }, isNew }: RelationContext): readonly string[] {
  if (isNew) return ["connect", "create"];
  return toMany ? members : ["connect", "disconnect", "create"];
}

/** Returns true if all names in an object are members like `connect`, not fields of a new row. */
function isMembers(value: unknown, { relation: { toMany }, target }: RelationContext): boolean {
  if (!isPlainObject(value)) return false;
  if (toMany) return true;
  const names = Object.keys(value);
  return names.length > 0 &&
    names.every((name) =>
      members.some((member) => member === name) && !target.table.byName.has(name) &&
      !target.relations.has(name)
    );
}

function parsePlain(value: unknown, place: RelationContext): RelationRequest {
  const { relation: { name, toMany, type }, target } = place;
  if (!toMany) return { wanted: [created(value, name, place)], ...nothingElse };
  // In a `manyToMany` relation, an object with only key members names an existing row.
  const wanted = listOf(value, name, place, "a list of objects").map((body, index): IdOrNewRow => ({
    ...created(body, `${name}.${index}`, place),
    kind: type === "manyToMany" && isKeyObject(body, target) ? "connect" : "create",
  }));
  return { wanted, ...nothingElse };
}

const nothingElse = { disconnect: [], removesOthers: null } as const;

function parseMany(value: object, place: RelationContext): RelationRequest {
  const { relation: { name }, bodyPath } = place;
  const partsOf = (member: string) =>
    Object.hasOwn(value, member)
      ? listOf(ownMember(value, member), `${name}.${member}`, place, "a list").map((
        body,
        index,
      ) => ({ body, bodyPath: pathInside(bodyPath, `${name}.${member}.${index}`) }))
      : [];
  const connect = [...partsOf("set"), ...partsOf("connect")]
    .map((part): IdOrNewRow => ({ ...part, kind: "connect" }));
  const create = partsOf("create").map(({ body }, index) =>
    created(body, `${name}.create.${index}`, place)
  );
  return {
    wanted: [...connect, ...create],
    disconnect: partsOf("disconnect"),
    removesOthers: Object.hasOwn(value, "set") ? pathInside(bodyPath, `${name}.set`) : null,
  };
}

function parseOne(value: object, place: RelationContext): RelationRequest {
  const { relation: { name, type }, bodyPath, isNew } = place;
  const has = (member: string) => Object.hasOwn(value, member);
  // A new `hasOne` row can conflict with the old row, so `create` and `disconnect` can be combined.
  const mayReplace = type === "hasOne" && has("disconnect") && has("create") && !has("connect");
  if (Object.keys(value).length !== 1 && !mayReplace) {
    throw invalidField(`must hold one of ${listed(membersFor(place))}`, name);
  }
  if (has("disconnect") && ownMember(value, "disconnect") !== true) {
    throw invalidField("must be true", `${name}.disconnect`);
  }
  const at = (member: string) => pathInside(bodyPath, `${name}.${member}`);
  const wanted: IdOrNewRow[] = [];
  if (has("connect")) {
    wanted.push({ kind: "connect", body: ownMember(value, "connect"), bodyPath: at("connect") });
  }
  if (has("create")) {
    wanted.push(created(ownMember(value, "create"), `${name}.create`, place));
  }
  const replaces = has("disconnect") ? "disconnect" : "connect";
  const removesOthers = has("disconnect") || type === "hasOne" && has("connect") && !isNew;
  return { wanted, disconnect: [], removesOthers: removesOthers ? at(replaces) : null };
}

function created(body: unknown, path: string, { bodyPath }: RelationContext): IdOrNewRow {
  if (!isPlainObject(body)) throw invalidField("must be an object", path);
  return { kind: "create", body, bodyPath: pathInside(bodyPath, path) };
}

function listOf(
  value: unknown,
  path: string,
  { target: { batch } }: RelationContext,
  what: string,
): readonly unknown[] {
  if (!Array.isArray(value)) throw invalidField(`must be ${what}`, path);
  if (value.length > batch.create) throw batchTooLarge(batch.create, `${path} holds more rows`);
  return value;
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
