import type { Filter } from "../filter/filter.ts";
import type { Rule } from "../filter/rule.ts";
import type { AnyTable } from "../schema/table_like.ts";
import type { User } from "./user.ts";

/** The kinds of access that scopes grant: what an operation does with rows. */
export type Access = "read" | "create" | "update" | "delete" | "subscribe";

/**
 * The result of a scope: a filter from a builder such as `eq(notes.ownerId, user.id)`, a template of
 * `rsql`, or a combination with policies and quantifiers. In all, values are data and never syntax.
 */
export type ScopeResult<Of = AnyTable> = Rule<Of> | ScopeText;

/**
 * A scope's filter as a concatenated string. An empty string denies access, and so does a
 * comparison with `undefined` or `null`. All other parts of the string are parsed as syntax,
 * including values from users.
 *
 * @deprecated Use `eq` and the other builders, or `rsql`: a value can never become syntax there.
 */
export type ScopeText = string;

/** Returns the rows that a user may access. If the function throws, access is denied. */
export type ScopeFunction<U extends User = User, Of = AnyTable> = (
  user: U,
) => ScopeResult<Of> | Promise<ScopeResult<Of>>;

/**
 * A public scope: returns the rows that every caller may access, even without a user. Called for
 * each request. If the function throws, access is denied.
 */
export type PublicScopeFunction<Of = AnyTable> = () => ScopeResult<Of> | Promise<ScopeResult<Of>>;

/**
 * The rows that every caller may access, even without a user. `true` grants all rows, and a
 * function grants the rows of its filter. A user may also access the rows of the user's scope.
 */
export interface PublicOptions<Of = AnyTable> {
  /** The rows that every caller may list, read and count. */
  readonly read?: boolean | PublicScopeFunction<Of> | undefined;
  /** The rows whose changes every caller may stream. */
  readonly subscribe?: boolean | PublicScopeFunction<Of> | undefined;
}

/** The scopes of a resource, which decide who may access its rows. Default: no access. */
export interface ScopeOptions<U extends User = User, Of = AnyTable> {
  /** Lets every caller read, subscribe, or (with `true`) do both. Writes are never public. */
  readonly public?: boolean | PublicOptions<Of> | undefined;
  /** The rows that may be listed, read and counted. */
  readonly read?: ScopeFunction<U, Of> | undefined;
  /** The filter that a new row must match. */
  readonly create?: ScopeFunction<U, Of> | undefined;
  /** The rows that may be changed. A changed row must still match. */
  readonly update?: ScopeFunction<U, Of> | undefined;
  /** The rows that may be deleted. */
  readonly delete?: ScopeFunction<U, Of> | undefined;
  /** The rows whose changes may be streamed. */
  readonly subscribe?: ScopeFunction<U, Of> | undefined;
}

/** The resolved scopes and the public accesses of one resource. */
export interface AccessPolicy {
  /** The accesses that are public for all rows. */
  readonly public: ReadonlySet<Access>;
  /** The accesses that are public for some rows, with the functions that return their filters. */
  readonly publicScopes: ReadonlyMap<Access, PublicScopeFunction>;
  readonly scopes: ReadonlyMap<Access, ScopeFunction>;
  /** Converts the result of a scope, such as `auth.read`, to a filter over the resource's table. */
  resolve(result: ScopeResult, name: string): Filter;
}

/** Resolves the scopes and the public accesses of a resource, once, at start. */
export function resolveScopes(options: ScopeOptions): Omit<AccessPolicy, "resolve"> {
  const { public: open = false } = options;
  const given = typeof open === "object" ? open : { read: open, subscribe: open };
  const granted = new Set<Access>();
  const publicScopes = new Map<Access, PublicScopeFunction>();
  for (const access of ["read", "subscribe"] as const) {
    const rows = given[access];
    if (rows === true) granted.add(access);
    else if (typeof rows === "function") publicScopes.set(access, rows);
  }
  const scopes = new Map<Access, ScopeFunction>();
  for (const access of ["read", "create", "update", "delete", "subscribe"] as const) {
    const scope = options[access];
    if (scope !== undefined) scopes.set(access, scope);
  }
  return { public: granted, publicScopes, scopes };
}
