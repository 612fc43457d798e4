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
 * The scopes of a resource: who may do what with its rows. An access that is not named is denied.
 */
export interface ScopeOptions<U extends User = User, Of = AnyTable> {
  /** Opens reading, subscribing, or with `true` both, to all callers. Writes are never public. */
  readonly public?: boolean | { readonly read?: boolean; readonly subscribe?: boolean } | undefined;
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
  readonly public: ReadonlySet<Access>;
  readonly scopes: ReadonlyMap<Access, ScopeFunction>;
  /** A scope's result → a filter over the resource's table. */
  resolve(result: ScopeResult): Filter;
}

/** Resolves the scopes of a resource and the accesses that are public, once, at start. */
export function resolveScopes(options: ScopeOptions): Pick<AccessPolicy, "public" | "scopes"> {
  const granted = new Set<Access>();
  if (options.public === true) granted.add("read").add("subscribe");
  else if (typeof options.public === "object") {
    for (const access of ["read", "subscribe"] as const) {
      if (options.public[access] === true) granted.add(access);
    }
  }
  const scopes = new Map<Access, ScopeFunction>();
  for (const access of ["read", "create", "update", "delete", "subscribe"] as const) {
    const scope = options[access];
    if (scope !== undefined) scopes.set(access, scope);
  }
  return { public: granted, scopes };
}
