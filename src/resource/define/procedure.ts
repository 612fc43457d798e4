import type { User } from "../../auth/user.ts";
import type { Driver } from "../../db/driver.ts";
import type { PowGateOptions } from "../../guard/resource_protection_options.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { HookContext } from "./hooks.ts";
import type { SchemaInput, SchemaOutput, StandardSchema } from "./standard_schema.ts";

/** Single statements, each its own transaction, and transactions of several. */
export type ProcedureDatabase = Pick<Driver, "query" | "transaction" | "dialect">;

/** What a handler is told beside its input. */
export interface ProcedureContext<Caller extends User | null = User> {
  /**
   * The database of the resource. What is done with it is plain SQL: no scope, no hook and no mask
   * of the resource applies.
   */
  readonly db: ProcedureDatabase;
  /** Who calls; null for an anonymous caller of a public procedure. */
  readonly user: Caller;
  /** The request; its body has been read. While the handler runs, `signal` tells when the caller leaves. */
  readonly request: Request;
  /** Which resource the procedure belongs to. */
  readonly resource: HookContext["resource"];
}

/** One procedure with the types that its schemas tell. */
export interface ProcedureOptions<
  Input extends StandardSchema,
  Output extends StandardSchema,
  Public extends boolean = false,
  U extends User = User,
> {
  /** Checks the body, any JSON value; the handler gets what it makes of it. A bad one is 422. */
  readonly input: Input;
  /** Checks what the handler gives; what it makes of that is answered. A bad one is 500. */
  readonly output: Output;
  /** Lets everybody call it. Only users unless set. */
  readonly public?: Public | undefined;
  /** How many tokens of the budget a call costs; 1 unless set. */
  readonly cost?: number | undefined;
  /** Always asks for proof of work. Off unless set. */
  readonly pow?: boolean | PowGateOptions | undefined;
  /** Does the work, and alone decides who may do it to what. A `Problem` it throws is answered. */
  readonly handler: (
    context: ProcedureContext<Public extends true ? U | null : U>,
    input: SchemaOutput<Input>,
  ) => MaybePromise<SchemaInput<Output>>;
}

/** A procedure whose types only its own handler knows: what {@link procedure} makes, or the like. */
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
 * Gives the handler of a procedure its types: the input from the one schema, what it must return
 * from the other, and a user that is there unless the procedure is public.
 *
 * @example
 * ```ts
 * import { procedure, type StandardSchema } from "@svc/resource-api";
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
  // Where a resource takes it, the option's type says any boolean: without NoInfer that would count
  // as said here, and the user could be null.
  return options;
}
