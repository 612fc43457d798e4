import type { MaybePromise } from "../../runtime/maybe_promise.ts";

/**
 * What validates a value and may change it on the way: a schema of zod, valibot, arktype, or any
 * other that follows version 1 of the Standard Schema specification. A value of the type `Input`
 * becomes one of the type `Output`.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The mark by which such schemas are known, and all that is used of them. */
  readonly "~standard": {
    /** Of the specification. */
    readonly version: 1;
    /** The library that the schema is of. */
    readonly vendor: string;
    /** Takes anything; what is wrong with it is said in the result and never thrown. */
    readonly validate: (value: unknown) => MaybePromise<SchemaResult<Output>>;
    /** For the compiler alone: nothing is there at run time. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The value that a schema made, or what is wrong with the one that it was given. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One thing that is wrong with a value, and where in it. */
export interface SchemaIssue {
  /** For people. */
  readonly message: string;
  /** The keys that lead to it, each alone or in an object; absent for the value as a whole. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The type that a schema takes. */
export type SchemaInput<Schema extends StandardSchema> = NonNullable<
  Schema["~standard"]["types"]
>["input"];

/** The type that a schema gives. */
export type SchemaOutput<Schema extends StandardSchema> = NonNullable<
  Schema["~standard"]["types"]
>["output"];

/** `["items", 0, { key: "name" }]` → `items.0.name`; the value as a whole is the empty text. */
export function issuePath({ path = [] }: SchemaIssue): string {
  return path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
}
