import { candidatesOf, type Procedure } from "../resource/model/procedure.ts";
import type { Resource } from "../resource/model/resource.ts";
import { servedResult } from "../resource/routes/function_endpoint.ts";
import { bodyColumnSchema, responseColumnSchema, withComment } from "./column_json_schema.ts";
import type { StandardSchema } from "../schema/standard_schema.ts";
import type { JsonSchema } from "../protocol/route_description.ts";

/** The description of a procedure. */
export interface ProcedureSchema {
  /** Name of the procedure, which is the last segment of its path. */
  readonly name: string;
  /** The comment on the called function of the database. Absent if there is no comment. */
  readonly description?: string;
  /** True if callers need not be signed in. */
  readonly public: boolean;
  /** JSON Schema of the body, or `{}` (any value) if the validation library provides none. */
  readonly input: JsonSchema;
  /** JSON Schema of `data` in the response, or `{}` if the validation library provides none. */
  readonly output: JsonSchema;
}

export interface OperationFacts {
  readonly resource: Resource;
  readonly name: string;
  readonly procedure: ProcedureSchema | null;
}

export function describeProcedure(
  name: string,
  procedure: Procedure,
  resource: Resource,
): ProcedureSchema {
  const { databaseFunction: called } = procedure;
  const candidates = candidatesOf(procedure);
  const comments = new Set(candidates.flatMap(({ description }) => description ?? []));
  return {
    name,
    ...(comments.size === 0 ? {} : { description: [...comments].join("\n\n") }),
    public: procedure.public === true,
    ...(called === undefined
      ? {
        input: jsonSchemaOf(procedure.input, "input"),
        output: jsonSchemaOf(procedure.output, "output"),
      }
      : {
        input: anyOf(candidates.map(inputOf)),
        output: anyOf(candidates.map((one) => outputOf(one, resource))),
      }),
  };
}

export function anyOf(schemas: readonly JsonSchema[]): JsonSchema {
  const [first = {}, ...others] = new Map(schemas.map((one) => [JSON.stringify(one), one]))
    .values();
  if (others.length === 0) return first;
  // Validators warn about an empty schema, which accepts any value, so it gets a description.
  const any = { description: "Any value." };
  return { anyOf: [first, ...others].map((one) => Object.keys(one).length === 0 ? any : one) };
}

export type CalledFunction = NonNullable<Procedure["databaseFunction"]>;

function inputOf({ args, args: [first], bodyType }: CalledFunction): JsonSchema {
  if (first !== undefined && bodyType !== null) return bodyColumnSchema(first.column, true);
  const required = args.filter(({ isOptional }) => !isOptional).map(({ column }) => column.name);
  return {
    type: "object",
    properties: Object.fromEntries(
      args.map(({ column }) => [column.name, bodyColumnSchema(column, true)]),
    ),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

/** Returns the schema of the result. Rows of a served table have only the readable fields. */
function outputOf(called: CalledFunction, resource: Resource): JsonSchema {
  const { kind, columns } = called.result;
  const [first] = columns;
  if (kind === "void" || first === undefined) {
    return { type: "string", nullable: true, enum: [null] };
  }
  if (kind === "value") return responseColumnSchema(first);
  const served = servedResult(called, resource);
  const shown = served?.fields.readable ?? columns;
  const row = {
    type: "object",
    properties: Object.fromEntries(
      shown.map((one) => [one.name, withComment(responseColumnSchema(one), one)]),
    ),
    ...(served === undefined && kind === "row" ? { required: shown.map(({ name }) => name) } : {}),
  };
  return kind === "row" ? { ...row, nullable: true } : pageOf(row);
}

export function pageOf(items: JsonSchema, more: JsonSchema = {}): JsonSchema {
  return {
    type: "object",
    properties: {
      items: { type: "array", items },
      nextCursor: { type: "string", nullable: true },
      hasMore: { type: "boolean" },
      totalCount: { type: "integer", minimum: 0 },
      ...more,
    },
    required: ["items", "nextCursor", "hasMore"],
  };
}

function jsonSchemaOf(
  { "~standard": { jsonSchema } }: StandardSchema,
  side: "input" | "output",
): JsonSchema {
  try {
    const { $schema: _dialect, ...schema } = jsonSchema?.[side]({ target: "openapi-3.0" }) ?? {};
    return schema;
  } catch (error) {
    // The library throws for types that JSON Schema cannot express. The result allows any value.
    if (error instanceof Error) return {};
    throw error;
  }
}
