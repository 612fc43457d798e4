import type { ResolvedCapabilities, Resource } from "../resource/model/resource.ts";
import { type RelationMember, relationMembers } from "../resource/write/nested/relation_members.ts";
import type { Relation } from "../schema/relation.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import { type FieldSchema, fieldsOf } from "./fields.ts";
import { describeProcedure, type ProcedureSchema } from "./procedure_schema.ts";

/**
 * The schema of a service, `GET /__service/schema`: what its resources have and can do. It holds no
 * column that answers do not hold.
 */
export interface ServiceSchema {
  /** Of the form of this description. */
  readonly version: 1;
  /** The path below which its resources are. */
  readonly basePath: string;
  /** In the order of the configuration. */
  readonly resources: readonly ResourceSchema[];
}

/** The schema of one resource. */
export interface ResourceSchema {
  /** The name of its table. */
  readonly name: string;
  /** Where it is mounted, percent-encoded: `/api/notes`. */
  readonly path: string;
  /** The fields of the key, in its order; those that answers hold. */
  readonly primaryKey: readonly string[];
  /** Of a view or a table without a key, whose rows have no path of their own; absent elsewhere. */
  readonly keyless?: true;
  /** In the order of the table, then the computed ones. */
  readonly fields: readonly FieldSchema[];
  /** What `include` loads. */
  readonly relations: readonly RelationSchema[];
  /** Which of its operations exist. */
  readonly capabilities: ResolvedCapabilities;
  /** Null if it has no ETags. */
  readonly etag: EtagSchema | null;
  /** At `/rpc/:name` below its path. */
  readonly procedures: readonly ProcedureSchema[];
}

/** The schema of a relation that `include` loads. */
export interface RelationSchema {
  /** In `include`, in filters and in answers. */
  readonly name: string;
  /** How many rows it has, and which table has the foreign key. */
  readonly type: Relation["type"];
  /** The name of the related resource. */
  readonly resource: string;
  /** The path of the related resource. */
  readonly path: string;
  /** True if `filter` may walk it. */
  readonly filterable: boolean;
  /** What bodies may ask of it, a POST only `connect` and `create`; absent where they write no related rows. */
  readonly writes?: readonly RelationMember[];
  /**
   * The fields that are equal, of a relation without a link table: lists of them where the foreign
   * key has several columns. Absent where one is hidden.
   */
  readonly on?: {
    readonly field: string | readonly string[];
    readonly references: string | readonly string[];
  };
}

/** What is to be known of a resource's ETags. */
export interface EtagSchema {
  /** True if they are weak: `W/"…"`. */
  readonly weak: boolean;
  /** True if a write of one row needs `If-Match`. */
  readonly required: boolean;
  /** The field that every write counts up; absent without one, or where it is hidden. */
  readonly versionField?: string;
}

/** What a service is described from. */
export interface DescribedService {
  readonly resources: readonly Resource[];
  readonly basePath: string;
}

/** Describes a service; `prefix` is the path at which the whole app is mounted. */
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

function describeResource(resource: Resource, prefix: string): ResourceSchema {
  const { name, url, table, fields, relations, capabilities, procedures } = resource;
  return {
    name,
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
    procedures: [...procedures].map(([name, procedure]) => describeProcedure(name, procedure)),
  };
}

/** Empty where no resource serves the related table: then the relation never shows a row. */
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
