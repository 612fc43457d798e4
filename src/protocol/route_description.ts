import type { ProblemSlug } from "./problem_codes.ts";

/** JSON Schema in the dialect of OpenAPI 3.0. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface RouteDescription {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly body?: JsonSchema;
  readonly bodyType?: string;
  /** The descriptions of successful responses, by status; null for a response without a body. */
  readonly answers: Readonly<Record<number, ResponseDescription | null>>;
  readonly problems: readonly ProblemSlug[];
  readonly needsUser: boolean;
  readonly parameters?: Readonly<Record<string, string>>;
}

export interface ResponseDescription {
  /** The content type of the response. Default: `application/json`. */
  readonly type?: string;
  readonly schema: JsonSchema;
}

const descriptionKey = Symbol("description of a route");

export function withRouteDescription<Handler extends object>(
  description: RouteDescription,
  handler: Handler,
): Handler {
  return Object.defineProperty(handler, descriptionKey, { value: description });
}

export function routeDescriptionOf(handler: object): RouteDescription | undefined {
  // The cast is safe: only `withRouteDescription` knows this key.
  return Reflect.get(handler, descriptionKey) as RouteDescription | undefined;
}

/** Returns the schema of an object. A name that ends in `?` is an optional member. */
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
