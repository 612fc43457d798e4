import type { ProblemSlug } from "./problem_codes.ts";

/** JSON Schema in the dialect of OpenAPI 3.0. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The description of a route that is not one of a resource, beside its code: the document of the
 * service has it where the route is mounted.
 */
export interface RouteDescription {
  /** The `operationId`. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  /** Of the JSON body; absent for none. */
  readonly body?: JsonSchema;
  /** Of a body that is not JSON. */
  readonly bodyType?: string;
  /** The answers that are no problems, by status; null for one without a body. */
  readonly answers: Readonly<Record<number, AnswerDescription | null>>;
  readonly problems: readonly ProblemSlug[];
  /** True if it needs a user. */
  readonly needsUser: boolean;
  /** The path parameters, and what they are. */
  readonly parameters?: Readonly<Record<string, string>>;
}

/** The description of an answer. */
export interface AnswerDescription {
  /** `application/json` unless set. */
  readonly type?: string;
  readonly schema: JsonSchema;
}

const descriptionKey = Symbol("description of a route");

/** The handler with the description of its route, which {@link descriptionOf} finds again. */
export function describedAs<Handler extends object>(
  description: RouteDescription,
  handler: Handler,
): Handler {
  return Object.defineProperty(handler, descriptionKey, { value: description });
}

/** The description of a handler's route; undefined for a handler without one. */
export function descriptionOf(handler: object): RouteDescription | undefined {
  // Only `describedAs` sets it: the key is not exported.
  return Reflect.get(handler, descriptionKey) as RouteDescription | undefined;
}

/** The schema of an object: the names of optional members end in `?`. */
export function objectSchema(members: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const entries = Object.entries(members);
  const required = entries.map(([name]) => name).filter((name) => !name.endsWith("?"));
  return {
    type: "object",
    properties: Object.fromEntries(
      entries.map(([name, schema]) => [name.replace(/\?$/, ""), schema]),
    ),
    ...(required.length === 0 ? {} : { required }),
  };
}
