import { parseUser, type User } from "../../auth/authorize.ts";
import { showValue } from "../../problem/show_value.ts";
import type { CodeApi } from "../model/code_api.ts";
import type { CodeCaller } from "../model/resource.ts";

/** The operations of an app for server-side code, outside of any request. */
export interface CallsFromCode<Api> {
  /**
   * Returns the operations of the resources for a user, or for an anonymous caller. Each operation
   * does what a client of that user could do over HTTP, but without an HTTP request. Budgets, rate
   * limits and proof of work do not apply. Throws a TypeError for a user without an id.
   *
   * @example
   * ```ts
   * import { all, createApp, eq, integer, openDatabase, resource, table, text } from "@svc/resource-api";
   *
   * const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
   * const db = await openDatabase("sqlite::memory:");
   * await db.createTables([notes]);
   * const app = await createApp({
   *   db,
   *   secret: "sixteen or more characters",
   *   resources: [resource(notes, { id: notes.id, auth: { read: () => all(), create: () => all() } })],
   * });
   * const api = app.as({ id: "ada" });
   * const { value } = await api.notes.create({ title: "Tea" });
   * const { items } = await api.notes.list({ filter: eq(notes.title, "Tea") });
   * console.log(value.id === items[0]?.id); // true
   * await app.close();
   * ```
   */
  as<Own = Api>(user: User | null): CodeApi<Own>;
  /** Returns the operations of the resources for the system, which can use all rows and fields. */
  asSystem<Own = Api>(): CodeApi<Own>;
}

export function createCallsFromCode<Api>(
  apiOf: (caller: CodeCaller) => unknown,
): CallsFromCode<Api> {
  const outside = { raw: null, depth: 0, within: null };
  return {
    as: <Own>(user: User | null) =>
      // The compiler cannot check the cast, because the caller can choose `Own`.
      apiOf({ ...outside, user: requireCodeUser(user), isSystem: false }) as CodeApi<Own>,
    asSystem: <Own>() => apiOf({ ...outside, user: null, isSystem: true }) as CodeApi<Own>,
  };
}

/** Copies the user, so that neither hooks nor the caller can change the other's object. */
function requireCodeUser(user: User | null): User | null {
  if (user === null) return null;
  if (parseUser(user) === null) {
    throw new TypeError(`Cannot call as ${showValue(user)}: a user has an id, which is a string`);
  }
  return Object.create(Object.getPrototypeOf(user), Object.getOwnPropertyDescriptors(user));
}
