import type { Procedure } from "../resource/model/procedure.ts";
import type { StandardSchema } from "../resource/model/standard_schema.ts";
import type { JsonSchema } from "../protocol/route_description.ts";

/** The description of a procedure. */
export interface ProcedureSchema {
  /** The last segment of its path. */
  readonly name: string;
  /** True if the procedure needs no user. */
  readonly public: boolean;
  /** Schema of the body; empty, which accepts any value, if the library provides none. */
  readonly input: JsonSchema;
  /** Schema of `data` in the response; also empty if there is none. */
  readonly output: JsonSchema;
}

export function describeProcedure(name: string, procedure: Procedure): ProcedureSchema {
  return {
    name,
    public: procedure.public === true,
    input: jsonSchemaOf(procedure.input, "input"),
    output: jsonSchemaOf(procedure.output, "output"),
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
    // By contract, Standard JSON Schema throws for a schema that JSON Schema cannot express, such
    // as a Date: the description then permits any value.
    if (error instanceof Error) return {};
    throw error;
  }
}
