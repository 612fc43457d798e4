import type { Filter } from "../filter/filter.ts";
import type { FilterText } from "../filter/builders.ts";
import type { User } from "./user.ts";

/** What a request wants to do with rows. */
export type Access = "read" | "create" | "update" | "delete" | "subscribe";

/**
 * What a scope may answer: a filter from the builders, as `eq(notes.ownerId, user.id)`, or of
 * `rsql`, whose values are data as well.
 */
export type ScopeResult = Filter | FilterText | ScopeText;

/**
 * Filter text that was put together by hand. An empty one denies, and so does a comparison with
 * `undefined` or `null`; what else stands in it is read as syntax, wherever it came from.
 *
 * @deprecated Use `eq` and the other builders, or `rsql`: a value can never become syntax there.
 */
export type ScopeText = string;

/** Which rows a user may touch. Reached only with a user; what it throws denies. */
export type ScopeFunction<U extends User = User> = (user: U) => ScopeResult | Promise<ScopeResult>;

/** Who may do what with a resource's rows. Whatever is not named is denied. */
export interface ScopeOptions<U extends User = User> {
  /** Opens reading, subscribing, or with `true` both, to everybody. Writes are never public. */
  readonly public?: boolean | { readonly read?: boolean; readonly subscribe?: boolean } | undefined;
  /** The rows that may be listed, read and counted. */
  readonly read?: ScopeFunction<U> | undefined;
  /** What a new row must be. */
  readonly create?: ScopeFunction<U> | undefined;
  /** The rows that may be changed; they must stay within. */
  readonly update?: ScopeFunction<U> | undefined;
  /** The rows that may be deleted. */
  readonly delete?: ScopeFunction<U> | undefined;
  /** The rows whose changes may be followed. */
  readonly subscribe?: ScopeFunction<U> | undefined;
}

/** The scopes of one resource, settled. */
export interface AccessPolicy {
  readonly public: ReadonlySet<Access>;
  readonly scopes: ReadonlyMap<Access, ScopeFunction>;
  /** A scope's answer → a filter over the resource's table. */
  resolve(result: ScopeResult): Filter;
}

/** Checks the options once, at start. Throws a plain Error for a grant that cannot be given. */
export function resolveScopes(options: ScopeOptions): Pick<AccessPolicy, "public" | "scopes"> {
  const granted = new Set<Access>();
  if (options.public === true) granted.add("read").add("subscribe");
  else if (typeof options.public === "object") {
    for (const [access, open] of Object.entries(options.public)) {
      if (access !== "read" && access !== "subscribe") {
        throw new Error(`Cannot make "${access}" public: only read and subscribe can be`);
      }
      if (open) granted.add(access);
    }
  }
  const scopes = new Map<Access, ScopeFunction>();
  for (const access of ["read", "create", "update", "delete", "subscribe"] as const) {
    const scope = options[access];
    if (scope !== undefined) scopes.set(access, scope);
  }
  return { public: granted, scopes };
}
