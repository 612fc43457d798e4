import type { User } from "../../auth/authorize.ts";
import type { DatabaseFunction } from "../../db/functions/database_function.ts";
import type { DatabaseHandle } from "../../db/database_handle.ts";
import type { PowGateOptions } from "../../guard/resource_protection_options.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { HookContext } from "./hooks.ts";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../../schema/standard_schema.ts";

/** The context that the handler of a procedure receives in addition to the input. */
export interface ProcedureContext<Caller extends User | null = User> {
  /**
   * The database of the resource. A statement outside of `db.transaction` commits separately. The
   * scopes, hooks and field lists of the resource do not apply to statements of `db`.
   */
  readonly db: DatabaseHandle;
  /** The caller, or null for an anonymous caller of a public procedure. */
  readonly user: Caller;
  /** True if code calls the procedure through `asSystem()`. */
  readonly isSystem: boolean;
  /**
   * The request, whose body has been read. Its `signal` aborts when the client disconnects. Null if
   * server-side code calls the procedure without a request.
   */
  readonly request: Request | null;
  /** The operations of the app, for the caller of the procedure. */
  readonly api: HookContext["api"];
  /** The resource that the procedure belongs to. */
  readonly resource: HookContext["resource"];
  /**
   * Registers work that runs after the handler. `isAnswered` is false if the handler threw an
   * error, or if its output cannot be sent. If `work` throws, the call fails.
   */
  readonly onEnd: (work: (isAnswered: boolean) => MaybePromise<void>) => void;
}

/** The options of one procedure, with types from its schemas. */
export interface ProcedureOptions<
  Input extends StandardSchema,
  Output extends StandardSchema,
  Public extends boolean = false,
  U extends User = User,
> {
  /**
   * The schema of the body, which can be any JSON value. The handler receives the output of the
   * schema. An invalid body fails with 422.
   */
  readonly input: Input;
  /** The schema of the result. Its output is the response. An invalid result fails with 500. */
  readonly output: Output;
  /** True to let anonymous callers call the procedure. Default: only users may call it. */
  readonly public?: Public | undefined;
  /** The number of tokens of the budget that a call costs. Default: 1. */
  readonly cost?: number | undefined;
  /** True to require proof of work for every call. Default: false. */
  readonly pow?: boolean | PowGateOptions | undefined;
  /**
   * Runs the procedure. The handler must check the rights of the caller, because no scope applies.
   * If it throws a `Problem`, the problem is the response.
   */
  readonly handler: (
    context: ProcedureContext<Public extends true ? U | null : U>,
    input: SchemaOutput<Input>,
  ) => MaybePromise<SchemaInput<Output>>;
}

/** A declared procedure without the types of its input and output. */
export interface Procedure {
  /** See {@link ProcedureOptions.input}. */
  readonly input: StandardSchema;
  /** See {@link ProcedureOptions.output}. */
  readonly output: StandardSchema;
  /** See {@link ProcedureOptions.public}. */
  readonly public?: boolean | undefined;
  /** See {@link ProcedureOptions.cost}. */
  readonly cost?: number | undefined;
  /** See {@link ProcedureOptions.pow}. */
  readonly pow?: boolean | PowGateOptions | undefined;
  /**
   * The Postgres function that the procedure calls instead of its handler.
   * `db.introspect({ functions })` returns such procedures. Default: the handler runs.
   */
  readonly databaseFunction?: DatabaseFunction | undefined;
  /** Returns true if the caller may call the procedure. Default: `public` alone decides. */
  readonly permits?: ((user: User | null) => boolean) | undefined;
  /** See {@link ProcedureOptions.handler}. */
  handler(context: ProcedureContext<User | null>, input: unknown): unknown;
}

export function candidatesOf(
  { databaseFunction: called }: Pick<Procedure, "databaseFunction">,
): readonly DatabaseFunction[] {
  return called === undefined ? [] : [called, ...called.overloads];
}

/**
 * Declares a procedure and infers the types of its handler. The schema `input` determines the type
 * of the input, and the schema `output` the type of the result. The user can be null only in a
 * public procedure.
 *
 * @example
 * ```ts
 * import { procedure } from "@svc/resource-api";
 * import type { StandardSchema } from "@svc/resource-api/options";
 *
 * // With zod this is z.string().trim(), with valibot v.pipe(v.string(), v.trim()).
 * const words: StandardSchema<string> = {
 *   "~standard": {
 *     version: 1,
 *     vendor: "here",
 *     validate: (value) =>
 *       typeof value === "string"
 *         ? { value: value.trim() }
 *         : { issues: [{ message: "must be text" }] },
 *   },
 * };
 * const greet = procedure({
 *   input: words,
 *   output: words,
 *   handler: ({ user }, name) => `Hello ${name}, says ${user.id}`,
 * });
 * // resource(notes, { …, procedures: { greet } }) serves it at POST /api/notes/rpc/greet.
 * console.log(greet.public); // undefined: only users may call it
 * ```
 */
export function procedure<
  Input extends StandardSchema,
  Output extends StandardSchema,
  Public extends boolean = false,
  U extends User = User,
>(
  options: ProcedureOptions<Input, Output, Public, U>,
): ProcedureOptions<Input, Output, NoInfer<Public>, U> {
  // Without NoInfer, `public` would be inferred as `boolean`, and the user could be null.
  return options;
}
