import type { Access } from "../../auth/authorize.ts";
import type { Connection } from "../../db/driver.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { fetchRows } from "../../db/rows.ts";
import { and, type Filter, relatedTerms } from "../../filter/filter.ts";
import { EchoedValue } from "../../plan/echoed_value.ts";
import { isSameKeyValue, type Key, keyFilter, keyId, parseKey } from "../../plan/key.ts";
import type { InsertPlan, ReadPlan } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";
import {
  parsePrecondition,
  type Precondition,
  preconditionFailed,
  requirePrecondition,
  tagOf,
} from "../http/etag.ts";
import type { BodyPath, ResourceRequest, WriteCall } from "../model/operation.ts";
import { notFound, notFoundOrForbidden } from "../rights/not_found_or_forbidden.ts";
import { atBodyPath, wholeBody } from "./values/batch_items.ts";
import { parseOptimisticId } from "./values/new_row_values.ts";
import { invalidField } from "./values/parse_fields.ts";
import { deletionLock, readByKeys } from "./read_rows_to_write.ts";

/** The row that a URL path names. `key` is null if the id in the path is invalid. */
export interface PathRow {
  readonly segment: string;
  readonly key: Key | null;
  readonly ifMatch: string | null;
}

export interface RowTarget {
  readonly key: Key;
  readonly segment: string;
  readonly precondition: Precondition;
}

export function parsePathRow({ segment, header }: ResourceRequest, { table }: Resource): PathRow {
  return { segment, key: parseKey(segment, table), ifMatch: header("if-match") };
}

/** Returns the id by which a client recognizes its own write among live events, or throws a 400. */
export function optimisticIdOf({ header }: ResourceRequest): string | null {
  const id = header("service-optimistic-id");
  return id === null ? null : parseOptimisticId(id);
}

export function planTarget({ segment, key, ifMatch }: PathRow, resource: Resource): RowTarget {
  if (key === null) throw notFound(resource, segment);
  return { key, segment, precondition: parsePrecondition(ifMatch, resource) };
}

/** Returns `values` without the key. Throws a 422 if the key in `values` differs from `key`. */
export function withoutKey(
  values: ReadonlyMap<ColumnInfo, unknown>,
  key: Key,
  { table }: Resource,
  message = "must be the id of the path",
): ReadonlyMap<ColumnInfo, unknown> {
  const rest = new Map(values);
  table.primaryKey.forEach((column, index) => {
    if (!rest.has(column)) return;
    const value = rest.get(column);
    const given = value instanceof EchoedValue ? value.given : value;
    if (!isSameKeyValue(given, key[index], column)) {
      throw invalidField(message, column.name);
    }
    rest.delete(column);
  });
  return rest;
}

export function writableRows({ grant, resource }: WriteCall): Filter {
  return and(grant.rows, grant.visible, resource.undeleted);
}

export function writableTarget(target: RowTarget, write: WriteCall): Filter {
  return and(keyFilter(target.key, write.resource.table), writableRows(write));
}

export async function lockTarget(
  target: RowTarget,
  write: WriteCall,
  connection: Connection,
): Promise<Row> {
  const row = await readTarget(target, write, connection);
  if (row === null) throw await notFoundOrForbidden(target, write, connection);
  requirePrecondition(target.precondition, row, write.resource);
  return row;
}

function readTarget(
  target: RowTarget,
  write: WriteCall,
  connection: Connection,
): Promise<Row | null> {
  const { grant, resource } = write;
  const lock = grant.access === "delete" ? deletionLock(resource) : { lock: true as const };
  return fetchRow(writableTarget(target, write), resource, connection, lock);
}

export function lockRow(
  where: Filter,
  resource: Resource,
  connection: Connection,
): Promise<Row | null> {
  return fetchRow(where, resource, connection, { lock: true });
}

export async function fetchRow(
  where: Filter,
  { table, reader, stored: columns }: Resource,
  connection: Connection,
  lock: Pick<ReadPlan, "lock"> = {},
): Promise<Row | null> {
  const { rows } = await fetchRows(connection, {
    kind: "read",
    table,
    columns,
    where,
    order: [],
    after: null,
    limit: null,
    ...lock,
  }, reader);
  return rows[0] ?? null;
}

/** Returns the error of a write that found no row. Throws a 412 if the precondition fails. */
export async function targetNotWritten(
  target: RowTarget,
  current: Row | null,
  write: WriteCall,
  connection: Connection,
): Promise<Error> {
  const { etag } = write.resource;
  const stored = await readTarget(target, write, connection);
  if (stored === null) return await notFoundOrForbidden(target, write, connection);
  if (current === null) requirePrecondition(target.precondition, stored, write.resource);
  const isChanged = current !== null && etag !== null &&
    tagOf(stored, etag) !== tagOf(current, etag);
  return isChanged
    ? preconditionFailed(tagOf(stored, etag))
    : new RowKept(write.grant.access, write.resource.identityOf !== null);
}

/** Thrown if a trigger, rule, policy or request prevented a write. The service tries again. */
export class RowKept extends Problem {
  /** `hasPolicies` is true if a policy of the database can have prevented the write. */
  constructor(access: Access, hasPolicies: boolean) {
    const slug = hasPolicies ? "forbidden" : "conflict";
    const [used, detail] = access === "delete"
      ? [slug, "Cannot delete: the database keeps this row"] as const
      : ["validation-error", `Cannot ${access}: the database did not keep the change`] as const;
    super(used, detail);
  }
}

export function severalRows(access: Access): Problem {
  return new Problem("conflict", `Cannot ${access}: several rows of the view have this key`);
}

/** Requires that written rows are within the scope. Throws a 403, which rolls the write back. */
export async function requireWithinScope(
  { grant, resource }: WriteCall,
  keys: readonly Key[],
  connection: Connection,
  bodyPaths: readonly BodyPath[] = [],
): Promise<void> {
  if (grant.rows.kind === "all") return;
  const { table } = resource;
  const what = { keys, where: grant.rows, columns: table.primaryKey };
  const within = await readByKeys(what, resource, connection);
  const outside = keys.findIndex((key) => !within.has(keyId(key, table)));
  if (outside < 0) return;
  throw atBodyPath(outsideScope(grant.access), bodyPaths[outside] ?? wholeBody);
}

/** Returns true if a write of one row needs no transaction, because it never needs a rollback. */
export function mayWriteAlone(resource: Resource): boolean {
  const { driver, table } = resource;
  return table.distinct && (driver.loneWrites === undefined || resource.actsOnRowsOnly());
}

/**
 * Returns true if the statement that writes a row can also check the scope. Subqueries for
 * relations would not see the written row, and a trigger could change the row after the check.
 */
export function canRequireScope({ grant, resource }: WriteCall): boolean {
  const { driver } = resource;
  if (grant.rows.kind === "all") return true;
  return driver.dialect.requireRow !== null && driver.loneWrites !== undefined &&
    resource.returnsFinalRows() && relatedTerms(grant.rows).length === 0;
}

export function scopeOfStatement(
  write: WriteCall,
  { inserts }: { readonly inserts: string },
): Pick<InsertPlan, "within"> {
  const { grant: { rows } } = write;
  const isRequired = rows.kind !== "all" && inserts !== "read-back" && canRequireScope(write);
  return isRequired ? { within: rows } : {};
}

export function outsideScope(access: Access, cause?: unknown): Problem {
  return new Problem("forbidden", `Cannot ${access}: the row would lie outside your scope`, {
    cause,
  });
}

export function scopeProblem(error: unknown, access: Access): unknown {
  const isOutside = error instanceof DatabaseError && error.kind === "outside-scope";
  return isOutside ? outsideScope(access, error) : error;
}

/** Another request changed the rows after they were read. The service then retries the write. */
export class RowsChanged extends Problem {
  constructor(action: string, cause?: unknown) {
    super("conflict", `Cannot ${action}: other writes kept getting in the way`, { cause });
  }
}

const maxTries = 3;

export async function retryIfRowsChanged<Result>(
  work: (isLast: boolean) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1;; attempt++) {
    try {
      return await work(attempt === maxTries);
    } catch (error) {
      if (attempt === maxTries || !(error instanceof RowsChanged)) throw error;
    }
  }
}
