/** A schema of zod, valibot, arktype or another library that follows Standard Schema, version 1. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The only member of a Standard Schema that the service uses. */
  readonly "~standard": {
    readonly version: 1;
    /** The library that made the schema. */
    readonly vendor: string;
    /** Validates a value of any type. Returns errors in the result, and never throws them. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Writes the schema as JSON Schema. Absent if the library does not support JSON Schema. */
    readonly jsonSchema?: JsonSchemaWriter | undefined;
    /** Exists only for the compiler. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** Writes a schema as JSON Schema (Standard JSON Schema, version 1). Either function may throw. */
export interface JsonSchemaWriter {
  /** Returns the JSON Schema of the accepted values. */
  input(options: JsonSchemaWriterOptions): Record<string, unknown>;
  /** Returns the JSON Schema of the returned values. */
  output(options: JsonSchemaWriterOptions): Record<string, unknown>;
}

/** The options of a {@link JsonSchemaWriter}. */
export interface JsonSchemaWriterOptions {
  /** The dialect of JSON Schema. */
  readonly target: "openapi-3.0";
}

/** The result of a validation: the output value, or the issues of the input value. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One issue that a Standard Schema reports: a message, and the path in the value. */
export interface SchemaIssue {
  /** The message, for a human reader. */
  readonly message: string;
  /** The path: keys, or objects with the member `key`. Absent if the whole value is invalid. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The type of the values that a Standard Schema accepts. */
export type SchemaInput<Schema extends StandardSchema> = NonNullable<
  Schema["~standard"]["types"]
>["input"];

/** The type of the values that a Standard Schema returns. */
export type SchemaOutput<Schema extends StandardSchema> = NonNullable<
  Schema["~standard"]["types"]
>["output"];

export function issuePath({ path = [] }: SchemaIssue): string {
  return path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
}
