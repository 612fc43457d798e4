import { all } from "../filter/builders.ts";
import { isStorable, type ScopeOptions, type User } from "./authorize.ts";

/** The database role and settings with which the statements of a request run. */
export interface ActAsIdentity {
  /** The database role: one of {@link ActAsOptions.roles}. */
  readonly role: string;
  /** Settings for `current_setting` in policies, with a dot in each name. Default: none. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

/** Runs each user's statements with a role, so that row-level policies determine the rights. */
export interface ActAsOptions {
  /** All roles that `as` can return. The service checks them when it starts. */
  readonly roles: readonly string[];
  /** Returns the role and the settings of a user, or of an anonymous caller (null). */
  as(user: User | null): ActAsIdentity;
  /** The role for statements of the service itself. Default: the role of the connection. */
  readonly system?: string | undefined;
}

export function identityFunction(
  { roles, as }: ActAsOptions,
): (user: User | null) => Required<ActAsIdentity> & { settings: Record<string, string> } {
  const known = new Set(roles);
  return (user) => {
    // A function in JavaScript can return a value of any type.
    const { role, settings = {} }: Partial<ActAsIdentity> = as(user) ?? {};
    if (role === undefined || !known.has(role)) {
      throw new Error(`Cannot act as ${JSON.stringify(role)}: actAs.roles does not name this role`);
    }
    const names = new Set<string>();
    for (const [name, value] of Object.entries(settings)) {
      // A policy can parse the value as JSON, which decodes escapes such as `\u0041`. Therefore the
      // decoded string must be storable, too.
      const read = String(value).replace(
        /\\(?:u([\da-f]{4})|.)/gis,
        (all, hex?: string) => hex === undefined ? all : String.fromCharCode(parseInt(hex, 16)),
      );
      const isNew = names.size < names.add(name.toLowerCase()).size;
      const fits = isNew && name.includes(".") && typeof value === "string";
      if (fits && [name, value, read].every(isStorable)) continue;
      throw new Error(
        `Cannot act with the setting "${name}": its name must have a dot, must differ from others ` +
          "not only by case, and its value must be a string, without NUL and lone surrogates",
      );
    }
    return { role, settings: { ...settings } };
  };
}

/** The scope of {@link byDatabase}: all rows, because row-level policies determine the rights. */
const byPolicies = () => all();

/** Options of {@link byDatabase}. */
export interface ByDatabaseOptions {
  /** True to let anonymous callers read and subscribe, within the rights of their database role. */
  readonly anonymous?: boolean | undefined;
}

/**
 * Returns the option `auth` of a resource whose rows the database protects by row-level policies.
 * Its scopes grant all rows, so the app must have the option `actAs`.
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

export function needsPolicies(auth: ScopeOptions | undefined): boolean {
  return Object.values(auth ?? {}).some((scope) => scope === byPolicies);
}
