import type { JsonSchema } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";
import { mayWrite } from "../resource/write/values/parse_fields.ts";
import { uniqueKeysOf } from "../resource/write/upsert/sort_items.ts";
import { writeJson } from "../schema/exact_json.ts";
import { type ColumnInfo, isRequired } from "../schema/table_info.ts";
import { bodyColumnSchema, responseColumnSchema, withComment } from "./column_json_schema.ts";
import type { ComponentNames } from "./component_names.ts";
import { isRequiredOnCreate } from "./fields.ts";
import { describeRelation } from "./service_schema.ts";
import { type RelationMember, relationMembers } from "../resource/write/nested/relation_members.ts";
import type { Relation } from "../schema/relation.ts";

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

export function schemaRef(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

export function rowSchemas(
  resource: Resource,
  names: ComponentNames,
): Readonly<Record<string, JsonSchema>> {
  const name = names.get(resource) ?? "";
  const { fields } = resource;
  const columns = fields.readable;
  const propertiesOf = (some: typeof columns) =>
    Object.fromEntries(some.map((column) => [column.name, shownIn(column, resource)]));
  const [shown, selectable] = [propertiesOf(columns), propertiesOf(fields.selectable)];
  const computed = Object.fromEntries(resource.computed.fields.map(([field]) => [field, {}]));
  const added = { ...computed, ...included(resource, names), ...includedMetrics(resource) };
  const sent = columns.filter((column) => mayWrite(column, resource));
  const changed = sent.filter((column) => !column.primaryKey && !fields.immutable.has(column));
  const keys = resource.table.primaryKey.filter((column) => columns.includes(column));
  const named = optimisticIdSchema(resource);
  const condition = resource.etag === null ? {} : { _ifMatch: { type: "string" } };
  const create = bodyOf(sent, resource, (column) => isRequiredOnCreate(column, resource));
  const replace = bodyOf(changed, resource, (column) => isRequiredOnCreate(column, resource));
  const update = bodyOf(changed, resource, () => false, false);
  const relations = relationsInUpdateBody(resource);
  const isPerUser = resource.varyingFields.has("readable");
  const perUser = isPerUser ? ["Which of the fields a row has depends on the user."] : [];
  const words = [resource.table.description ?? [], perUser].flat();
  return {
    [name]: {
      type: "object",
      ...(words.length === 0 ? {} : { description: words.join("\n\n") }),
      properties: { ...shown, ...added },
      ...requiredOf([...isPerUser ? [] : Object.keys(shown), ...Object.keys(computed)]),
    },
    [`${name}Selection`]: {
      type: "object",
      description: [selection, ...perUser].join(" "),
      properties: { ...selectable, ...added },
      ...requiredOf(Object.keys(computed)),
    },
    [`${name}Create`]: withMembers(create, relationsInCreateBody(resource)),
    [`${name}Update`]: withMembers(update, relations),
    ...(Object.keys(relations).length === 0 ? {} : { [`${name}Patch`]: update }),
    [`${name}Replace`]: withMembers(replace, relations),
    [`${name}ReplaceItem`]: withMembers(withKey(replace, keys), { ...condition, ...named }),
    // If an upsert finds rows by another unique key, its items need no primary key.
    [`${name}UpsertItem`]: withMembers(
      uniqueKeysOf(resource).length > 1 ? create : withKey(create, keys),
      { ...condition, ...named },
    ),
  };
}

const selection = "A row with the fields that the request selects, and the rows that it includes.";

export function optimisticIdSchema(resource: Resource): JsonSchema {
  return resource.hub() === null
    ? {}
    : { _optimisticId: { type: "string", minLength: 1, maxLength: 200 } };
}

function shownIn(column: ColumnInfo, resource: Resource): JsonSchema {
  const schema = withComment(responseColumnSchema(column), column);
  return mayWrite(column, resource) || schema["type"] === undefined
    ? schema
    : { ...schema, readOnly: true };
}

function included(resource: Resource, names: ComponentNames): JsonSchema {
  return Object.fromEntries(
    [...resource.relations.values()].flatMap((relation) => {
      const target = resource.served.get(relation.target);
      if (target === undefined || describeRelation(relation, resource, "").length === 0) return [];
      const row = schemaRef(`${names.get(target)}Selection`);
      const schema = relation.toMany
        ? { type: "array", items: row }
        : { type: "object", nullable: true, allOf: [row] };
      return [[relation.name, schema]];
    }),
  );
}

function includedMetrics({ relations, served }: Resource): JsonSchema {
  const properties = [...relations.values()].flatMap(({ name, target, toMany }) => {
    const resource = toMany ? served.get(target) : undefined;
    return resource?.capabilities.enableAggregations
      ? [[name, { type: "object", properties: metricSchemas(resource.groups) }]]
      : [];
  });
  return properties.length === 0 ? {} : {
    _aggregates: { type: "object", properties: Object.fromEntries(properties) },
  };
}

/** Returns the schemas of metrics. Exact sums and averages are strings; null without values. */
export function metricSchemas({ ofColumns }: Resource["groups"]): JsonSchema {
  const metrics = [...ofColumns].filter(([, byColumn]) => byColumn.size > 0)
    .map(([metric, byColumn]) => [
      metric,
      {
        type: "object",
        properties: Object.fromEntries([...byColumn.keys()].map((field) => [field, {}])),
      },
    ]);
  return { count: { type: "integer" }, ...Object.fromEntries(metrics) };
}

function bodyOf(
  columns: readonly ColumnInfo[],
  { strictInput, varyingFields }: Resource,
  isNeeded: (column: ColumnInfo) => boolean,
  fillsIn = true,
): JsonSchema {
  const properties = columns.map((column) => {
    const schema = withComment(bodyColumnSchema(column, !isRequired(column)), column);
    const { default: source } = column;
    const words = schema["description"] === undefined ? [] : [schema["description"]];
    // No `default` is added, because client generators treat a property with a default as required.
    return [
      column.name,
      source === null || source.kind === "function" || source.value === undefined || !fillsIn
        ? schema
        : {
          ...schema,
          description: [`${writeJson(source.value)} unless set.`, ...words].join(" "),
        },
    ] as const;
  });
  const isPerUser = varyingFields.has("writable") || varyingFields.has("immutable");
  return {
    type: "object",
    ...(isPerUser ? { description: "Which of the fields are used depends on the user." } : {}),
    properties: Object.fromEntries(properties),
    ...requiredOf(columns.filter(isNeeded).map(({ name }) => name)),
    ...(strictInput ? { additionalProperties: false } : {}),
  };
}

function withMembers(schema: JsonSchema, members: JsonSchema): JsonSchema {
  return { ...schema, properties: { ...Object(schema["properties"]), ...members } };
}

function withKey(schema: JsonSchema, keys: readonly ColumnInfo[]): JsonSchema {
  const members = Object.fromEntries(
    keys.map((column) => [column.name, bodyColumnSchema(column, false)]),
  );
  const needed: unknown = schema["required"];
  const names = keys.map(({ name }) => name);
  const others = Array.isArray(needed) ? needed.filter((one) => !names.includes(one)) : [];
  return {
    ...schema,
    properties: { ...members, ...Object(schema["properties"]), ...members },
    ...requiredOf([...names, ...others]),
  };
}

function requiredOf(names: readonly string[]): JsonSchema {
  return names.length === 0 ? {} : { required: names };
}
