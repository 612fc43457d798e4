import { Problem } from "../../problem/problem.ts";

/** Returns the object at a member of the body of an action. Throws a 400. */
export function objectAt(body: unknown, name: string): Readonly<Record<string, unknown>> {
  const value = memberOf(body, name);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new Problem("invalid-body", `Cannot do this: "${name}" must be an object`);
}

/** Returns the string at a member of the body of an action. Throws a 400. */
export function textAt(body: unknown, name: string): string {
  const value = memberOf(body, name);
  if (typeof value === "string" && value !== "") return value;
  throw new Problem("invalid-body", `Cannot do this: "${name}" must be a text`);
}

/** Returns the string at a member of the body of an action, or null without one. Throws a 400. */
export function optionalTextAt(body: unknown, name: string): string | null {
  const value = memberOf(body, name);
  return value === undefined || value === null || value === "" ? null : textAt(body, name);
}

/** Returns a member of the body of an action, or undefined without one. */
export function memberOf(body: unknown, name: string): unknown {
  return typeof body === "object" && body !== null && Object.hasOwn(body, name)
    ? Reflect.get(body, name)
    : undefined;
}
