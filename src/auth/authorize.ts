import { allRows, type Filter, noRows, or } from "../filter/filter.ts";
import { Problem } from "../problem/problem.ts";
import { chain, type MaybePromise, toMaybePromise } from "../runtime/maybe_promise.ts";
import type { Rule } from "../filter/rule.ts";
import type { AnyTable } from "../schema/table_like.ts";
import type { Observer } from "../runtime/runtime.ts";

declare const granted: unique symbol;

/** The right to access rows, which each query needs. Only {@link authorize} creates a grant. */
export interface Grant {
  readonly [granted]: true;
  readonly access: Access;
  readonly user: User | null;
  /** The accessible rows. A written row must be one of these rows before and after the write. */
  readonly rows: Filter;
  /** The rows that the caller may know to exist. Access to any other row fails with "not found". */
  readonly visible: Filter;
}

/**
 * Returns the right to the rows that `public` grants to every caller or the scope grants to the
 * user. Without such rows, throws a 401 for an anonymous caller, or a 403 for a user.
 */
export function authorize(
  access: Access,
  user: User | null,
  policy: AccessPolicy,
): MaybePromise<Grant> {
  if (policy.public.has(access)) return grant(access, user, allRows, allRows);
  return chain(grantedRows(access, user, policy), (rows) => {
    if (rows.kind === "none") {
      requireUser(access, user);
      throw forbidden(access);
    }
    if (user === null || (access !== "update" && access !== "delete")) {
      return grant(access, user, rows, rows);
    }
    return chain(visibleRows(rows, user, policy), (visible) => grant(access, user, rows, visible));
  });
}

/** Throws, before the body is read, 401 for an anonymous caller or 403 if no caller has access. */
export function requireAccess(access: Access, user: User | null, policy: AccessPolicy): void {
  // Does not call a public scope: `authorize` calls it later, and its rows can differ by then.
  if (policy.public.has(access) || policy.publicScopes.has(access)) return;
  requireUser(access, user);
  if (!policy.scopes.has(access)) throw forbidden(access);
}

export function requireUser(action: string, user: User | null): User {
  if (user !== null) return user;
  throw new Problem("unauthorized", `Cannot ${action}: this needs a user`);
}

function forbidden(access: Access): Problem {
  return new Problem("forbidden", `Cannot ${access}: you have no right to`);
}

function visibleRows(own: Filter, user: User, policy: AccessPolicy): MaybePromise<Filter> {
  if (policy.public.has("read")) return allRows;
  return chain(
    grantedRows("read", user, policy),
    (readable) => readable.kind === "none" ? own : readable,
  );
}

function grantedRows(
  access: Access,
  user: User | null,
  { publicScopes, scopes, resolve }: AccessPolicy,
): MaybePromise<Filter> {
  const publicScope = publicScopes.get(access);
  const open = publicScope === undefined ? noRows : chain(
    toMaybePromise(publicScope()),
    (rows) => resolve(rows, `auth.public.${access}`),
  );
  const scope = user === null ? undefined : scopes.get(access);
  return chain(open, (rows) => {
    if (user === null || scope === undefined || rows.kind === "all") return rows;
    return chain(toMaybePromise(scope(user)), (own) => or(rows, resolve(own, `auth.${access}`)));
  });
}

function grant(access: Access, user: User | null, rows: Filter, visible: Filter): Grant {
  // The cast is safe: the member `granted` exists only in the type, and only this function adds it.
  return { access, user, rows, visible } as Grant;
}

/** The kinds of access that scopes grant. For instance, listing and counting rows needs `read`. */
export type Access = "read" | "create" | "update" | "delete" | "subscribe";

/** The result of a scope: a filter such as `eq(notes.ownerId, user.id)`, or an `rsql` template. */
export type ScopeResult<Of = AnyTable> = Rule<Of> | ScopeText;

/**
 * A scope's filter as a string. An empty string, or a comparison with `undefined` or `null`, denies
 * access. A user's value in the string can change the filter, so prefer `eq` and the other
 * builders, or `rsql`, in which a value never becomes syntax.
 */
export type ScopeText = string;

/** Returns the rows that a user may access. If the function throws, access is denied. */
export type ScopeFunction<U extends User = User, Of = AnyTable> = (
  user: U,
) => ScopeResult<Of> | Promise<ScopeResult<Of>>;

/** Returns the rows that every caller may access. Called per request. Denies access on errors. */
export type PublicScopeFunction<Of = AnyTable> = () => ScopeResult<Of> | Promise<ScopeResult<Of>>;

/** The rows that every caller may access: `true` for all rows, or a function with their filter. */
export interface PublicOptions<Of = AnyTable> {
  /** The rows that every caller may list, read and count. */
  readonly read?: boolean | PublicScopeFunction<Of> | undefined;
  /** The rows whose changes every caller may stream. */
  readonly subscribe?: boolean | PublicScopeFunction<Of> | undefined;
}

/** The scopes of a resource, which say who may access which rows. Default: no access. */
export interface ScopeOptions<U extends User = User, Of = AnyTable> {
  /** `true` lets every caller read and subscribe. An object can allow less. Writes stay private. */
  readonly public?: boolean | PublicOptions<Of> | undefined;
  /** The rows that may be listed, read and counted. */
  readonly read?: ScopeFunction<U, Of> | undefined;
  /** The filter that a new row must match. */
  readonly create?: ScopeFunction<U, Of> | undefined;
  /** The rows that may be changed. After the update, a row must still match this filter. */
  readonly update?: ScopeFunction<U, Of> | undefined;
  /** The rows that may be deleted. */
  readonly delete?: ScopeFunction<U, Of> | undefined;
  /** The rows whose changes may be streamed. */
  readonly subscribe?: ScopeFunction<U, Of> | undefined;
}

export interface AccessPolicy {
  readonly public: ReadonlySet<Access>;
  readonly publicScopes: ReadonlyMap<Access, PublicScopeFunction>;
  readonly scopes: ReadonlyMap<Access, ScopeFunction>;
  resolve(result: ScopeResult, name: string): Filter;
}

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

/** The user of a request, which an authenticator or a middleware has set. */
export interface User {
  /** The id of the user. A user without an id, or with the id `""`, counts as anonymous. */
  readonly id: string;
  /** The user's e-mail address. */
  readonly email?: string | undefined;
  /** The user's name. */
  readonly name?: string | undefined;
  /** The roles of the user, which scopes can check. */
  readonly roles?: readonly string[] | undefined;
  /** Other claims in the user's credential. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
}

export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Creates the parser of users. Reports once if an unusable id makes a user anonymous. */
export function createUserParser(observe: Observer): (value: unknown) => User | null {
  let isObserved = false;
  return (value) => {
    const user = parseUser(value);
    if (user === null && !isObserved && hasUnusableId(value)) {
      isObserved = true;
      const message =
        "the user's id must be a string without NUL and lone surrogates: the caller counts as anonymous";
      observe({ kind: "notice", message });
    }
    return user;
  };
}

export function parseUser(value: unknown): User | null {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  if (typeof value.id !== "string" || value.id === "" || !isStorable(value.id)) return null;
  // The cast is safe: only scopes and hooks of the application use other members than `id`.
  return value as User;
}

function hasUnusableId(value: unknown): boolean {
  return typeof value === "object" && value !== null && "id" in value && value.id !== "" &&
    ["number", "bigint", "string"].includes(typeof value.id);
}
