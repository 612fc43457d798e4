import type { JsonSchema } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";
import { type RelationMember, relationMembers } from "../resource/write/nested/relation_members.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import { bodyColumnSchema } from "./column_json_schema.ts";

export function relationsInCreateBody(resource: Resource): JsonSchema {
  return relationsOf(resource, (relation, members) => {
    const rows = relation.toMany ? { type: "array", items: row } : row;
    const asked = members.filter((member) => member === "connect" || member === "create");
    return asked.includes("connect")
      ? { anyOf: [rows, membersOf(relation, asked, resource)] }
      : rows;
  });
}

export function relationsInUpdateBody(resource: Resource): JsonSchema {
  return relationsOf(
    resource,
    (relation, members) => members.length === 0 ? null : membersOf(relation, members, resource),
  );
}

const row: JsonSchema = { type: "object" };

function relationsOf(
  resource: Resource,
  schemaOf: (relation: Relation, members: readonly RelationMember[]) => JsonSchema | null,
): JsonSchema {
  if (!resource.nestedWrites) return {};
  return Object.fromEntries(
    [...resource.relations.values()].flatMap((relation) => {
      if (resource.served.get(relation.target) === undefined) return [];
      const schema = schemaOf(relation, relationMembers(relation, resource));
      return schema === null ? [] : [[relation.name, schema]];
    }),
  );
}

function membersOf(
  { target, toMany }: Relation,
  members: readonly RelationMember[],
  { served }: Resource,
): JsonSchema {
  const { fields: { readable } = { readable: [] } } = served.get(target) ?? {};
  const id = idOf(target.primaryKey, readable);
  const schemaOf = (member: RelationMember): JsonSchema => {
    if (toMany) return { type: "array", items: member === "create" ? row : id };
    return member === "create"
      ? row
      : member === "connect"
      ? id
      : { type: "boolean", enum: [true] };
  };
  return {
    type: "object",
    properties: Object.fromEntries(members.map((member) => [member, schemaOf(member)])),
    additionalProperties: false,
    ...(toMany ? {} : { minProperties: 1 }),
  };
}

/** Returns the schema of a related row's id in a body: a value, a list of values, or an object. */
function idOf(key: readonly ColumnInfo[], readable: readonly ColumnInfo[]): JsonSchema {
  if (!key.every((column) => readable.includes(column))) return {};
  const values = key.map((column) => bodyColumnSchema(column, false));
  const named: JsonSchema = {
    type: "object",
    properties: Object.fromEntries(key.map(({ name }, index) => [name, values[index]])),
    required: key.map(({ name }) => name),
    additionalProperties: false,
  };
  const [only = {}, another] = values;
  if (another === undefined) return { anyOf: [only, named] };
  const list = { type: "array", minItems: values.length, maxItems: values.length, items: {} };
  return { anyOf: [list, named] };
}
