import { Problem } from "../../problem/problem.ts";

/** Returns a member of an action's body that must be an object. Throws a 400. */
export function requireObjectMember(
  body: unknown,
  name: string,
): Readonly<Record<string, unknown>> {
  const value = memberOf(body, name);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new Problem("invalid-body", `Cannot do this: "${name}" must be an object`);
}

/** Returns a member of an action's body that must be a string. Throws a 400. */
export function requireStringMember(body: unknown, name: string): string {
  const value = memberOf(body, name);
  if (typeof value === "string" && value !== "") return value;
  throw new Problem("invalid-body", `Cannot do this: "${name}" must be a text`);
}

/** Returns an optional string of an action's body, or null without one. Throws a 400. */
export function optionalStringMember(body: unknown, name: string): string | null {
  const value = memberOf(body, name);
  return value === undefined || value === null || value === ""
    ? null
    : requireStringMember(body, name);
}

export function memberOf(body: unknown, name: string): unknown {
  return typeof body === "object" && body !== null && Object.hasOwn(body, name)
    ? Reflect.get(body, name)
    : undefined;
}
