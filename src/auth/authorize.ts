import { allRows, type Filter } from "../filter/filter.ts";
import { Problem } from "../problem/problem.ts";
import type { Access, AccessPolicy } from "./scope.ts";
import type { User } from "./user.ts";

declare const granted: unique symbol;

/** The right to touch some rows. Only {@link authorize} makes one, and no plan is built without. */
export interface Grant {
  readonly [granted]: true;
  readonly access: Access;
  readonly user: User | null;
  /** The rows that may be touched, before and after a write. */
  readonly rows: Filter;
  /** The rows whose existence may be admitted: outside it, a row is "not found". */
  readonly visible: Filter;
}

/**
 * Denies by default. `public` is asked first and shows every row; then the caller must be a user
 * (401, and the scope does not run); then the scope decides, and none or `none()` is 403.
 * What a scope throws is passed on, so that it ends the request without a right.
 */
export function authorize(
  access: Access,
  user: User | null,
  policy: AccessPolicy,
): Grant | Promise<Grant> {
  if (policy.public.has(access)) return grant(access, user, allRows, allRows);
  return authorizeUser(access, user, policy);
}

async function authorizeUser(
  access: Access,
  user: User | null,
  policy: AccessPolicy,
): Promise<Grant> {
  const rows = await scopedRows(access, requireUser(access, user), policy);
  if (rows.kind === "none") throw forbidden(access);
  if (user === null || (access !== "update" && access !== "delete")) {
    return grant(access, user, rows, rows);
  }
  return grant(access, user, rows, await visibleRows(rows, user, policy));
}

/**
 * Throws a 401 where only a user gets on, and a 403 where no user does: before a body is read or a
 * name is looked up. What depends on the user is left to {@link authorize}.
 */
export function requireAccess(access: Access, user: User | null, policy: AccessPolicy): void {
  if (policy.public.has(access)) return;
  requireUser(access, user);
  if (!policy.scopes.has(access)) throw forbidden(access);
}

/** The caller, or a 401. `action` completes "Cannot …". */
export function requireUser(action: string, user: User | null): User {
  if (user !== null) return user;
  throw new Problem("unauthorized", `Cannot ${action}: this needs a user`);
}

function forbidden(access: Access): Problem {
  return new Problem("forbidden", `Cannot ${access}: you have no right to`);
}

/** What the user may read, or, where nobody granted reading, what the write's own scope covers. */
async function visibleRows(own: Filter, user: User, policy: AccessPolicy): Promise<Filter> {
  if (policy.public.has("read")) return allRows;
  const readable = await scopedRows("read", user, policy);
  return readable.kind === "none" ? own : readable;
}

async function scopedRows(access: Access, user: User, policy: AccessPolicy): Promise<Filter> {
  const scope = policy.scopes.get(access);
  return scope === undefined ? { kind: "none" } : policy.resolve(await scope(user));
}

function grant(access: Access, user: User | null, rows: Filter, visible: Filter): Grant {
  // The brand exists for the compiler only, and this is the one place that may put it on.
  return { access, user, rows, visible } as Grant;
}
