import type { Filter } from "../filter/filter.ts";
import type { FilterText } from "../filter/builders.ts";
import type { AnyTable } from "../schema/table_like.ts";
import type { User } from "./user.ts";

/** The kinds of access that scopes grant: what an operation does with rows. */
export type Access = "read" | "create" | "update" | "delete" | "subscribe";

/**
 * What a scope may return: a filter from the builders, as `eq(notes.ownerId, user.id)`, or of
 * `rsql`, whose values are data as well.
 */
export type ScopeResult<Of = AnyTable> = Filter<Of> | FilterText | ScopeText;

/**
 * A scope's filter as text that was concatenated. An empty one denies, and so does a comparison
 * with `undefined` or `null`; all else in it is parsed as syntax, values of users included.
 *
 * @deprecated Use `eq` and the other builders, or `rsql`: a value can never become syntax there.
 */
export type ScopeText = string;

/** A scope: which rows a user may access. Called only with a user; an error denies. */
export type ScopeFunction<U extends User = User, Of = AnyTable> = (
  user: U,
) => ScopeResult<Of> | Promise<ScopeResult<Of>>;

/**
 * A public scope: the rows that every caller may access, also without a user. Called for each
 * request; an error denies.
 */
export type PublicScopeFunction<Of = AnyTable> = () => ScopeResult<Of> | Promise<ScopeResult<Of>>;

/**
 * What every caller may access, also without a user: all rows with `true`, those of a filter with a
 * function. A user may access these and those of the scope.
 */
export interface PublicOptions<Of = AnyTable> {
  /** The rows that every caller may list, read and count. */
  readonly read?: boolean | PublicScopeFunction<Of> | undefined;
  /** The rows whose changes every caller may stream. */
  readonly subscribe?: boolean | PublicScopeFunction<Of> | undefined;
}

/**
 * The scopes of a resource: who may do what with its rows. An access that is not named is denied.
 */
export interface ScopeOptions<U extends User = User, Of = AnyTable> {
  /** Opens reading, subscribing, or with `true` both, to all callers. Writes are never public. */
  readonly public?: boolean | PublicOptions<Of> | undefined;
  /** The rows that may be listed, read and counted. */
  readonly read?: ScopeFunction<U, Of> | undefined;
  /** What a new row must be. */
  readonly create?: ScopeFunction<U, Of> | undefined;
  /** The rows that may be changed; a changed row must stay within. */
  readonly update?: ScopeFunction<U, Of> | undefined;
  /** The rows that may be deleted. */
  readonly delete?: ScopeFunction<U, Of> | undefined;
  /** The rows whose changes may be streamed. */
  readonly subscribe?: ScopeFunction<U, Of> | undefined;
}

/** The resolved scopes of one resource, and which accesses are public. */
export interface AccessPolicy {
  /** The accesses to all rows. */
  readonly public: ReadonlySet<Access>;
  /** The accesses to some rows, those of a filter. */
  readonly publicScopes: ReadonlyMap<Access, PublicScopeFunction>;
  readonly scopes: ReadonlyMap<Access, ScopeFunction>;
  /** A scope's result → a filter over the resource's table. */
  resolve(result: ScopeResult): Filter;
}

/** Resolves the scopes of a resource and the accesses that are public, once, at start. */
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
