import { all } from "../filter/builders.ts";
import type { ScopeOptions } from "./scope.ts";
import type { User } from "./user.ts";

/** In whose name the database runs the statements of a request. */
export interface ActAsIdentity {
  /** The role of the database. It must be one of {@link ActAsOptions.roles}. */
  readonly role: string;
  /** Settings that policies read by `current_setting`. Each name contains a dot. Default: none. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

/**
 * How the database decides the rights of users, by its own roles and policies. The statements of
 * each request run with the role and the settings of its user.
 */
export interface ActAsOptions {
  /** Every role that `as` may return. The service checks these roles at the start. */
  readonly roles: readonly string[];
  /** Returns the role and the settings of a user, or of an anonymous caller (null). */
  as(user: User | null): ActAsIdentity;
  /** The role of the service itself, in place of the login role. Default: the login role. */
  readonly system?: string | undefined;
}

/** Returns the function that finds the identity of a caller. The function throws plain Errors. */
export function identityFunction(
  { roles, as }: ActAsOptions,
): (user: User | null) => Required<ActAsIdentity> & { settings: Record<string, string> } {
  const known = new Set(roles);
  return (user) => {
    // A program without type checks may return anything.
    const { role, settings = {} }: Partial<ActAsIdentity> = as(user) ?? {};
    if (role === undefined || !known.has(role)) {
      throw new Error(`Cannot act as ${JSON.stringify(role)}: actAs.roles does not name this role`);
    }
    for (const [name, value] of Object.entries(settings)) {
      if (name.includes(".") && typeof value === "string") continue;
      throw new Error(
        `Cannot act with the setting "${name}": its name must have a dot, and its value must be a string`,
      );
    }
    return { role, settings: { ...settings } };
  };
}

/** The scope of {@link byDatabase}: the policies of the database decide. */
const byPolicies = () => all();

/** Options of {@link byDatabase}. */
export interface ByDatabaseOptions {
  /** True if anonymous callers may read and subscribe, as far as the database lets their role. */
  readonly anonymous?: boolean | undefined;
}

/**
 * Returns the option `auth` of a resource whose rows the policies of the database protect. Every
 * scope grants all rows, so it needs the option `actAs` of the app.
 *
 * @example
 * ```ts
 * import { byDatabase, resource, table, uuid } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: uuid().primaryKey(), ownerId: uuid().notNull() });
 * const definition = resource(notes, { id: notes.id, auth: byDatabase({ anonymous: true }) });
 * ```
 */
export function byDatabase(
  { anonymous = false }: ByDatabaseOptions = {},
): Required<ScopeOptions<User, never>> {
  const isOpen = anonymous === true;
  return {
    public: { read: isOpen, subscribe: isOpen },
    read: byPolicies,
    create: byPolicies,
    update: byPolicies,
    delete: byPolicies,
    subscribe: byPolicies,
  };
}

/** Returns true if a scope of a resource leaves the decision to the policies of the database. */
export function needsPolicies(auth: ScopeOptions | undefined): boolean {
  return Object.values(auth ?? {}).some((scope) => scope === byPolicies);
}
