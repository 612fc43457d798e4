import { type KindProperties, kindProperties } from "../schema/kinds/kind_properties.ts";
import type { RelationMember } from "../resource/write/nested/relation_members.ts";
import { uniqueNames } from "./component_names.ts";
import type { FieldSchema } from "./fields.ts";
import { propertyName, toTsType } from "./schema_type.ts";
import type { RelationSchema, ResourceSchema, ServiceSchema } from "./service_schema.ts";

/** Returns TypeScript declarations without generic types, which editors would have to evaluate. */
export function writeApiTypes({ basePath, resources }: ServiceSchema): string {
  const names = typeNames(resources);
  const others = new Map(resources.map((resource) => [resource.path, resource]));
  const interfaces = resources.flatMap((resource) => interfacesOf(resource, names, others));
  const members = resources.map((resource) => memberOf(resource, names, basePath));
  return [
    "// Written by `resource-api types`: change the service, then write it again.\n",
    ...interfaces,
    `/** The resources of the service, by path below its base path. */`,
    `export interface Api {\n${members.join("\n")}\n}\n`,
  ].join("\n");
}

type TypeNames = ReadonlyMap<string, string>;

const suffixes = ["", "Create", "Update", "Relations"] as const;

function typeNames(resources: readonly ResourceSchema[]): TypeNames {
  const names = uniqueNames(resources.map(({ name }) => pascalCase(name)), suffixes, ["Api"]);
  return new Map(resources.map(({ path }, index) => [path, names[index] ?? ""]));
}

function pascalCase(name: string): string {
  const words = name.split(/[^\p{ID_Continue}]+|_/u).filter((word) => word !== "");
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  return /^\p{ID_Start}/u.test(joined) ? joined : `Table${joined}`;
}

function interfacesOf(
  resource: ResourceSchema,
  names: TypeNames,
  others: ReadonlyMap<string, ResourceSchema>,
): readonly string[] {
  const { path, fields, relations, capabilities } = resource;
  const name = names.get(path);
  const created = fields.filter((field) => field.readOnly !== true);
  const { enableCreate, enableUpdate } = capabilities;
  const related = relations.flatMap((relation) => {
    const target = others.get(relation.path);
    return target === undefined ? [] : [{ relation, target, name: names.get(relation.path) ?? "" }];
  });
  return [
    comment(resource, "") + interfaceOf(
      `${name}`,
      fields.map((field) =>
        comment(field, "  ") +
        member(field.name, rowType(field), field.perUser || field.onSelect)
      ),
    ),
    ...(enableCreate
      ? [interfaceOf(
        `${name}Create`,
        [
          ...created.map((field) =>
            comment(field, "  ") + member(field.name, bodyType(field), !field.required)
          ),
          ...related.flatMap(createdRelation),
        ],
      )]
      : []),
    ...(enableUpdate
      ? [interfaceOf(
        `${name}Update`,
        [
          ...created.filter((field) => field.createOnly !== true)
            .map((field) => comment(field, "  ") + member(field.name, bodyType(field), true)),
          ...related.flatMap(changedRelation),
        ],
      )]
      : []),
    interfaceOf(
      `${name}Relations`,
      relations.map((relation) => member(relation.name, relationType(relation, names))),
    ),
  ];
}

function memberOf(resource: ResourceSchema, names: TypeNames, basePath: string): string {
  const { path, fields, relations, capabilities, etag, procedures } = resource;
  const name = names.get(path);
  const calls = procedures.map(({ name, input, output }) =>
    `      ${propertyName(name)}: { input: ${toTsType(input)}; output: ${toTsType(output)} };\n`
  ).join("");
  const targets = relations.filter(({ path }) => names.has(path)).map((relation) =>
    `${propertyName(relation.name)}: Api[${JSON.stringify(relativePath(relation.path, basePath))}]`
  );
  const selected = fields.filter(({ onSelect, perUser }) => onSelect && !perUser);
  return [
    `  ${propertyName(relativePath(path, basePath))}: {`,
    `    path: ${JSON.stringify(path)};`,
    `    key: ${keyType(resource)};`,
    `    row: ${name};`,
    `    create: ${capabilities.enableCreate ? `${name}Create` : "never"};`,
    `    update: ${capabilities.enableUpdate ? `${name}Update` : "never"};`,
    `    relations: ${name}Relations;`,
    `    targets: {${targets.length === 0 ? "" : ` ${targets.join("; ")} `}};`,
    ...(selected.length === 0 ? [] : [`    onSelect: ${namesOf(selected)};`]),
    `    numeric: ${namesOf(fields.filter(isNumeric))};`,
    `    etag: ${etag !== null};`,
    `    procedures: {${calls === "" ? "" : `\n${calls}    `}};`,
    `    operations: ${operationsOf(resource)};`,
    "  };",
  ].join("\n");
}

function keyType({ primaryKey, fields, keyless }: ResourceSchema): string {
  const keys = primaryKey.map((key) => {
    const field = fields.find((one) => one.name === key);
    return field === undefined ? "unknown" : columnType(field);
  });
  const [key = keyless === true ? "never" : "unknown", ...others] = keys;
  return others.length === 0 ? key : `[${keys.join(", ")}]`;
}

/** A relation whose rows a body can write. `name` is the type name of the related resource. */
interface WrittenRelation {
  readonly relation: RelationSchema;
  readonly target: ResourceSchema;
  readonly name: string;
}

function createdRelation(written: WrittenRelation): readonly string[] {
  const { relation: { name, writes = [] } } = written;
  const members = writes.filter((one) => one === "connect" || one === "create");
  if (members.length === 0) return [];
  const rows = members.includes("create") ? `${writtenType("create", written)} | ` : "";
  return [member(name, rows + membersType(members, written), true)];
}

function changedRelation(written: WrittenRelation): readonly string[] {
  const { relation: { name, writes = [] } } = written;
  return writes.length === 0 ? [] : [member(name, membersType(writes, written), true)];
}

function membersType(members: readonly RelationMember[], written: WrittenRelation): string {
  return `{ ${members.map((one) => `${one}?: ${writtenType(one, written)}`).join("; ")} }`;
}

/** Returns the type for writing rows. New nested rows omit the foreign key to the enclosing row. */
function writtenType(
  member: RelationMember,
  { relation: { type }, target, name }: WrittenRelation,
): string {
  const isMany = type === "hasMany" || type === "manyToMany";
  if (member === "disconnect" && !isMany) return "true";
  const one = member === "create" ? `Partial<${name}Create>` : keyType(target);
  return !isMany ? one : one.includes(" ") ? `(${one})[]` : `${one}[]`;
}

function operationsOf({ capabilities }: ResourceSchema): string {
  const names: readonly (readonly [string, boolean])[] = [
    ["delete", capabilities.enableDelete],
    ["restore", capabilities.enableRestore],
    ["history", capabilities.enableHistory],
    ["batch", capabilities.enableBatch],
    ["aggregate", capabilities.enableAggregations],
    ["search", capabilities.enableSearch],
    ["subscribe", capabilities.enableSubscribe],
    ["export", capabilities.enableExport],
    ["import", capabilities.enableImport],
  ];
  return namesOf(names.filter(([, isThere]) => isThere).map(([name]) => ({ name })));
}

function namesOf(named: readonly { readonly name: string }[]): string {
  return named.map(({ name }) => JSON.stringify(name)).join(" | ") || "never";
}

function isNumeric({ type, schema }: FieldSchema): boolean {
  if (type === "any" || type === "computed" || schema !== undefined) return type === "any";
  return kindProperties[type].arithmetic !== null;
}

function relativePath(path: string, basePath: string): string {
  return path.slice(basePath.length + 1).split("/").map(decodeURIComponent).join("/");
}

function interfaceOf(name: string, members: readonly string[]): string {
  return members.length === 0
    ? `export interface ${name} {}\n`
    : `export interface ${name} {\n${members.join("\n")}\n}\n`;
}

function member(name: string, type: string, isOptional = false): string {
  return `  ${propertyName(name)}${isOptional ? "?" : ""}: ${type};`;
}

function comment({ description }: { readonly description?: string }, indent: string): string {
  if (description === undefined) return "";
  const lines = description.replaceAll("*/", "*\\/").split(/\r\n?|[\n\u2028\u2029]/);
  return lines.length === 1
    ? `${indent}/** ${lines[0]} */\n`
    : [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */\n`]
      .join("\n");
}

function rowType(field: FieldSchema): string {
  const type = columnType(field);
  return field.nullable && type !== "unknown" ? `${type} | null` : type;
}

function bodyType(field: FieldSchema): string {
  const isNumberToo = field.wide || jsonOf(field) === "string or number";
  const type = isNumberToo ? "string | number" : columnType(field);
  return field.nullable && type !== "unknown" ? `${type} | null` : type;
}

function columnType({ type, wide, enum: values, schema }: FieldSchema): string {
  if (schema !== undefined) return toTsType(schema);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (type === "any") return wide ? "number | string" : "number | string | { $number: string }";
  switch (jsonOf({ type })) {
    case "number":
      return wide ? "string" : "number";
    case "boolean":
      return "boolean";
    case "any":
      return "unknown";
    case "string":
    case "string or number":
      return "string";
  }
}

function jsonOf({ type }: Pick<FieldSchema, "type">): KindProperties["json"] {
  return type === "any" || type === "computed" ? "any" : kindProperties[type].json;
}

function relationType({ type, path }: RelationSchema, names: TypeNames): string {
  const name = names.get(path) ?? "unknown";
  return type === "hasMany" || type === "manyToMany" ? `${name}[]` : `${name} | null`;
}
