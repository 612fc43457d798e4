import { allRows, type Filter, noRows, or } from "../filter/filter.ts";
import { Problem } from "../problem/problem.ts";
import { chain, type MaybePromise, toMaybePromise } from "../runtime/maybe_promise.ts";
import type { Access, AccessPolicy } from "./scope.ts";
import type { User } from "./user.ts";

declare const granted: unique symbol;

/** The right to access some rows, which a query needs. Only {@link authorize} creates grants. */
export interface Grant {
  readonly [granted]: true;
  readonly access: Access;
  readonly user: User | null;
  /** The rows that may be accessed, before and after a write. */
  readonly rows: Filter;
  /** The rows whose existence may be revealed. Access to any other row fails with "not found". */
  readonly visible: Filter;
}

/**
 * Authorizes an access to rows. First, the option `public` may grant every caller all rows or some
 * rows. If it grants nothing, a caller without a user gets a 401, and for a user the scope decides.
 * Without a scope, or if the scope returns `none()`, the access fails with 403. An error of a scope
 * propagates, so the request ends without a grant.
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
    return chain(
      visibleRows(rows, user, policy),
      (visible) => grant(access, user, rows, visible),
    );
  });
}

/**
 * Authorizes an access before the body is read. Throws a 401 if a user is required, and a 403 if no
 * user has access. Later, {@link authorize} determines the rows that the user may access.
 */
export function requireAccess(access: Access, user: User | null, policy: AccessPolicy): void {
  // A public scope is not called here, because its result may differ for each request.
  if (policy.public.has(access) || policy.publicScopes.has(access)) return;
  requireUser(access, user);
  if (!policy.scopes.has(access)) throw forbidden(access);
}

/** Returns the user of a request, or throws a 401. In its message, `action` follows "Cannot". */
export function requireUser(action: string, user: User | null): User {
  if (user !== null) return user;
  throw new Problem("unauthorized", `Cannot ${action}: this needs a user`);
}

function forbidden(access: Access): Problem {
  return new Problem("forbidden", `Cannot ${access}: you have no right to`);
}

/** Returns the rows that the user may read, or the filter `own` if the user may read none. */
function visibleRows(own: Filter, user: User, policy: AccessPolicy): MaybePromise<Filter> {
  if (policy.public.has("read")) return allRows;
  return chain(
    grantedRows("read", user, policy),
    (readable) => readable.kind === "none" ? own : readable,
  );
}

/** Returns the rows that every caller may access, together with the rows of the user's scope. */
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
  // The cast is safe: only the compiler sees the brand, and only this function adds it.
  return { access, user, rows, visible } as Grant;
}
