import type { FieldSchema } from "../../../src/openapi/fields.ts";
import type { ResourceSchema, ServiceSchema } from "../../../src/openapi/service_schema.ts";

const everything = {
  enableCreate: true,
  enableUpdate: true,
  enableDelete: true,
  enableBatch: true,
  enableExport: true,
  enableImport: true,
  enableAggregations: true,
  enableRestore: true,
  enableHistory: true,
  enableSubscribe: true,
  enableSearch: true,
};

function field(
  name: string,
  type: FieldSchema["type"],
  more: Partial<FieldSchema> = {},
): FieldSchema {
  return { name, type, nullable: false, required: false, ...more };
}

function resourceOf(name: string, parts: Partial<ResourceSchema>): ResourceSchema {
  return {
    ...{ name, path: `/api/${name}`, primaryKey: ["id"], fields: [], relations: [] },
    ...{ capabilities: everything, etag: null, procedures: [] },
    ...parts,
  };
}

/** The service that the programs of the type tests are clients of. */
export const describedApi: ServiceSchema = {
  version: 1,
  basePath: "/api",
  resources: [
    resourceOf("notes", {
      fields: [
        field("id", "integer", { createOnly: true }),
        field("title", "text", { required: true }),
        field("views", "integer"),
        field("status", "text", { enum: ["draft", "done"] }),
        field("price", "decimal", { nullable: true }),
        field("createdAt", "timestamp", { readOnly: true }),
      ],
      relations: [
        ...[relation("author", "belongsTo", "people"), relation("tags", "manyToMany", "tags")],
      ],
      etag: { weak: true, required: false },
      procedures: [{
        name: "publish",
        public: false,
        input: {
          ...{ type: "object", properties: { id: { type: "integer" } } },
          ...{ required: ["id"], additionalProperties: false },
        },
        output: {
          ...{ type: "object", properties: { at: { type: "string" } } },
          ...{ required: ["at"], additionalProperties: false },
        },
      }],
    }),
    resourceOf("people", {
      fields: [field("id", "text", { required: true, createOnly: true }), field("name", "text")],
      relations: [relation("notes", "hasMany", "notes")],
    }),
    resourceOf("tags", {
      fields: [
        ...[field("id", "uuid"), field("name", "text")],
        field("shout", "text", { readOnly: true, onSelect: true }),
      ],
    }),
    resourceOf("places", {
      path: "/api/atlas/places",
      primaryKey: ["country", "number"],
      fields: [
        field("country", "text", { required: true, createOnly: true }),
        field("number", "integer", { required: true, createOnly: true }),
      ],
    }),
    resourceOf("audits", {
      fields: [field("id", "integer")],
      capabilities: {
        ...everything,
        ...{ enableCreate: false, enableUpdate: false, enableDelete: false },
        ...{ enableExport: false, enableImport: false },
        ...{ enableAggregations: false, enableSearch: false, enableRestore: false },
      },
    }),
  ],
};

function relation(
  name: string,
  type: ResourceSchema["relations"][number]["type"],
  resource: string,
): ResourceSchema["relations"][number] {
  return { name, type, resource, path: `/api/${resource}`, filterable: false };
}

/** A service of many resources, each with twelve fields, and with relations to its neighbours. */
export function manyResources(count: number): ServiceSchema {
  const names = Array.from({ length: count }, (_, index) => `things${index}`);
  const kinds = ["text", "integer", "bigint", "real", "decimal", "boolean"] as const;
  const more = ["timestamp", "date", "uuid", "json", "bytes"] as const;
  return {
    version: 1,
    basePath: "/api",
    resources: names.map((name, index) =>
      resourceOf(name, {
        fields: [
          field("id", "integer", { createOnly: true }),
          ...[...kinds, ...more].map((kind, at) =>
            field(`${kind}Field`, kind, { nullable: at % 2 === 0, required: at % 3 === 1 })
          ),
        ],
        relations: [
          relation("parent", "belongsTo", names[(index + 1) % count] ?? name),
          relation("children", "hasMany", names[(index + count - 1) % count] ?? name),
        ],
        etag: { weak: true, required: false },
      })
    ),
  };
}
