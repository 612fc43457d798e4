import type { Procedure } from "../resource/model/procedure.ts";
import type { StandardSchema } from "../resource/model/standard_schema.ts";
import type { JsonSchema } from "../protocol/route_description.ts";

/** The description of a procedure. */
export interface ProcedureSchema {
  /** Name of the procedure, which is the last segment of its path. */
  readonly name: string;
  /** True if callers need not be signed in. */
  readonly public: boolean;
  /** JSON Schema of the body, or `{}` (any value) if the validation library provides none. */
  readonly input: JsonSchema;
  /** JSON Schema of `data` in the response, or `{}` if the validation library provides none. */
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
    // The library throws if JSON Schema cannot express a type. The schema then allows any value.
    if (error instanceof Error) return {};
    throw error;
  }
}
