import type { User } from "../../auth/user.ts";
import type { DatabaseHandle } from "../../db/database_handle.ts";
import type { PowGateOptions } from "../../guard/resource_protection_options.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { HookContext } from "./hooks.ts";
import type { SchemaInput, SchemaOutput, StandardSchema } from "./standard_schema.ts";

/** The context that the handler of a procedure receives besides its input. */
export interface ProcedureContext<Caller extends User | null = User> {
  /**
   * The database of the resource. A statement outside of `transaction` is its own transaction. No
   * scope, no hook and no mask of the resource applies.
   */
  readonly db: DatabaseHandle;
  /** The caller, or null for an anonymous caller of a public procedure. */
  readonly user: Caller;
  /** True if code calls by `asSystem()`. */
  readonly isSystem: boolean;
  /**
   * The request, whose body has been read. Its `signal` aborts when the client disconnects. Null if
   * code calls outside of any request.
   */
  readonly request: Request | null;
  /** The operations of the app, for the same user. */
  readonly api: HookContext["api"];
  /** Which resource the procedure belongs to. */
  readonly resource: HookContext["resource"];
  /**
   * Registers work for the end of the call. `isAnswered` is false if the handler has thrown, or if
   * its output cannot be sent. Work for a successful call may still fail it.
   */
  readonly onEnd: (work: (isAnswered: boolean) => MaybePromise<void>) => void;
}

/** The options of one procedure, typed by its schemas. */
export interface ProcedureOptions<
  Input extends StandardSchema,
  Output extends StandardSchema,
  Public extends boolean = false,
  U extends User = User,
> {
  /** Validates the body, any JSON value. The handler receives the output. Failures are 422. */
  readonly input: Input;
  /**
   * Validates the handler's result. The output of the schema is the response. An invalid result is
   * a 500.
   */
  readonly output: Output;
  /** Lets anonymous callers call it. Only users unless set. */
  readonly public?: Public | undefined;
  /** The number of tokens of the budget that a call costs. Default: 1. */
  readonly cost?: number | undefined;
  /** Always requires proof of work. Off unless set. */
  readonly pow?: boolean | PowGateOptions | undefined;
  /**
   * Does the work, and authorizes it, because no scope applies. A `Problem` that it throws becomes
   * the response.
   */
  readonly handler: (
    context: ProcedureContext<Public extends true ? U | null : U>,
    input: SchemaOutput<Input>,
  ) => MaybePromise<SchemaInput<Output>>;
}

/** A declared procedure without its types, which only its handler needs. */
export interface Procedure {
  /** As in {@link ProcedureOptions}. */
  readonly input: StandardSchema;
  /** As in {@link ProcedureOptions}. */
  readonly output: StandardSchema;
  /** As in {@link ProcedureOptions}. */
  readonly public?: boolean | undefined;
  /** As in {@link ProcedureOptions}. */
  readonly cost?: number | undefined;
  /** As in {@link ProcedureOptions}. */
  readonly pow?: boolean | PowGateOptions | undefined;
  /** As in {@link ProcedureOptions}. */
  handler(context: ProcedureContext<User | null>, input: unknown): unknown;
}

/**
 * Declares a procedure and types its handler: its input by the one schema, its result by the other,
 * and a user that is never null unless the procedure is public.
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
 * // resource(notes, { …, procedures: { greet } }) answers it at POST /api/notes/rpc/greet.
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
  // The option `procedures` accepts any boolean for `public`: without NoInfer it would be inferred
  // from there, and the user could be null.
  return options;
}
