import { allRows, type Filter, noRows, or } from "../filter/filter.ts";
import { Problem } from "../problem/problem.ts";
import { chain, type MaybePromise, toMaybePromise } from "../runtime/maybe_promise.ts";
import type { Access, AccessPolicy } from "./scope.ts";
import type { User } from "./user.ts";

declare const granted: unique symbol;

/** The right to access rows, which each query needs. Only {@link authorize} creates one. */
export interface Grant {
  readonly [granted]: true;
  readonly access: Access;
  readonly user: User | null;
  /** The rows that can be accessed. A written row must be one of them before and afterwards. */
  readonly rows: Filter;
  /** The rows that the caller may know to exist. Access to other rows fails with "not found". */
  readonly visible: Filter;
}

/**
 * Returns the right to access rows. First, the option `public` can grant all or some rows to every
 * caller. If it grants none, a caller without a user gets a 401, and the scope decides for a user.
 * Without a scope, or if it returns `none()`, throws a 403. An error of a scope is thrown on, so
 * that the request ends without a right.
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

/**
 * Checks an access before the body is read. Throws a 401 if a user is required, and a 403 if no
 * user has access. Later, {@link authorize} finds out which rows the user may access.
 */
export function requireAccess(access: Access, user: User | null, policy: AccessPolicy): void {
  // A public scope is not called yet, because its result can be different later.
  if (policy.public.has(access) || policy.publicScopes.has(access)) return;
  requireUser(access, user);
  if (!policy.scopes.has(access)) throw forbidden(access);
}

/** Returns the user, or throws a 401. In the message, `action` follows "Cannot". */
export function requireUser(action: string, user: User | null): User {
  if (user !== null) return user;
  throw new Problem("unauthorized", `Cannot ${action}: this needs a user`);
}

function forbidden(access: Access): Problem {
  return new Problem("forbidden", `Cannot ${access}: you have no right to`);
}

/** Returns the rows that the user may read, or `own` if there are none. */
function visibleRows(own: Filter, user: User, policy: AccessPolicy): MaybePromise<Filter> {
  if (policy.public.has("read")) return allRows;
  return chain(
    grantedRows("read", user, policy),
    (readable) => readable.kind === "none" ? own : readable,
  );
}

/** Returns the rows that every caller may access, plus those of the user's scope. */
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
