import type { ResolvedCapabilities, Resource } from "../resource/model/resource.ts";
import { type RelationMember, relationMembers } from "../resource/write/nested/relation_members.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import { type FieldSchema, fieldsOf } from "./fields.ts";
import { describeProcedure, type ProcedureSchema } from "./procedure_schema.ts";

/** The schema of a service at `GET /__service/schema`, without columns that no user can read. */
export interface ServiceSchema {
  /** Version of the schema's format. */
  readonly version: 1;
  /** The base path of all resources. */
  readonly basePath: string;
  /** The resources, in the order of the app's configuration. */
  readonly resources: readonly ResourceSchema[];
}

/** The schema of one resource. */
export interface ResourceSchema {
  /** Name of the resource's table. */
  readonly name: string;
  /** The comment on the table in the database. Absent if the table has no comment. */
  readonly description?: string;
  /** Percent-encoded path of the resource: `/api/notes`. */
  readonly path: string;
  /** Names of the key's fields, in the order of the key. Hidden fields are left out. */
  readonly primaryKey: readonly string[];
  /** Present for a view or table without a key. A single row then has no path. */
  readonly keyless?: true;
  /** The fields in the order of the table, then the computed fields. */
  readonly fields: readonly FieldSchema[];
  /** The relations that `include` loads. */
  readonly relations: readonly RelationSchema[];
  /** The operations that the resource supports. */
  readonly capabilities: ResolvedCapabilities;
  /** The ETags of the resource's rows, or null if the rows have no ETags. */
  readonly etag: EtagSchema | null;
  /** The procedures of the resource. Their paths are `<path of the resource>/rpc/<name>`. */
  readonly procedures: readonly ProcedureSchema[];
}

/** The schema of a relation that `include` loads. */
export interface RelationSchema {
  /** Name in `include`, in filters and in responses. */
  readonly name: string;
  /** The type of the relation, which determines the number of related rows. */
  readonly type: Relation["type"];
  /** The name of the related resource. */
  readonly resource: string;
  /** The path of the related resource. */
  readonly path: string;
  /** True if the `filter` parameter can use the relation. */
  readonly filterable: boolean;
  /** Members of the object that writes related rows. A POST accepts only `connect` and `create`. */
  readonly writes?: readonly RelationMember[];
  /**
   * The fields whose values are equal in a row and its related rows: lists if the foreign key has
   * several columns. Absent for a relation through a link table, or if a field is hidden.
   */
  readonly on?: {
    readonly field: string | readonly string[];
    readonly references: string | readonly string[];
  };
}

/** The properties of the ETags of a resource's rows. */
export interface EtagSchema {
  /** True if the ETags are weak: `W/"…"`. */
  readonly weak: boolean;
  /** True if a write of a single row must send `If-Match`. */
  readonly required: boolean;
  /** The field that every write increments. Absent if there is no such field or it is hidden. */
  readonly versionField?: string;
}

export interface DescribedService {
  readonly resources: readonly Resource[];
  readonly basePath: string;
}

export function describeService(
  { resources, basePath }: DescribedService,
  prefix: string,
): ServiceSchema {
  return {
    version: 1,
    basePath: prefix + basePath,
    resources: resources.map((resource) => describeResource(resource, prefix)),
  };
}

export function describeResource(resource: Resource, prefix: string): ResourceSchema {
  const { name, url, table, fields, relations, capabilities, procedures } = resource;
  return {
    name,
    ...(table.description === null ? {} : { description: table.description }),
    path: prefix + url,
    primaryKey: table.primaryKey.filter((column) => fields.readable.includes(column))
      .map((column) => column.name),
    ...(table.primaryKey.length === 0 ? { keyless: true as const } : {}),
    fields: fieldsOf(resource),
    relations: [...relations.values()].flatMap((relation) =>
      describeRelation(relation, resource, prefix)
    ),
    capabilities,
    etag: describeEtag(resource),
    procedures: [...procedures].map(([name, procedure]) =>
      describeProcedure(name, procedure, resource)
    ),
  };
}

export function describeRelation(
  relation: Relation,
  resource: Resource,
  prefix: string,
): readonly RelationSchema[] {
  const { name, type, target, filterable, steps } = relation;
  const { fields, served } = resource;
  const other = served.get(target);
  if (other === undefined) return [];
  const [own, references] = [steps[0].own, steps[0].other];
  const isShown = type !== "manyToMany" &&
    own.every((column) => fields.readable.includes(column)) &&
    references.every((column) => other.fields.readable.includes(column));
  const writes = relationMembers(relation, resource);
  const on = { field: loneOrAll(own), references: loneOrAll(references) };
  return [{
    ...{ name, type, resource: other.name, path: prefix + other.url, filterable },
    ...(isShown ? { on } : {}),
    ...(writes.length === 0 ? {} : { writes }),
  }];
}

function loneOrAll(columns: readonly ColumnInfo[]): string | readonly string[] {
  const [first = "", ...others] = columns.map(({ name }) => name);
  return others.length === 0 ? first : [first, ...others];
}

function describeEtag({ etag, fields }: Resource): EtagSchema | null {
  if (etag === null) return null;
  const { versionField, algorithm, require } = etag;
  const isShown = versionField !== null && fields.readable.includes(versionField);
  return {
    weak: algorithm === "weak",
    required: require,
    ...(isShown ? { versionField: versionField.name } : {}),
  };
}
