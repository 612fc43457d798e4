import type { Access } from "../../auth/scope.ts";
import type { Connection } from "../../db/driver.ts";
import { fetchRows } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { isSameKeyValue, type Key, keyFilter, keyId, parseKey } from "../../plan/key.ts";
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
import { atBodyPath, wholeBody } from "./values/body_path.ts";
import { InvalidFields } from "./values/parse_fields.ts";
import { readByKeys } from "./read_rows_to_write.ts";

/** The row that a request names in its path; `key` is null for an impossible id. */
export interface NamedRow {
  readonly segment: string;
  readonly key: Key | null;
  readonly ifMatch: string | null;
}

/** One row to write to, and the state that the client expects it in. */
export interface RowTarget {
  readonly key: Key;
  /** The id as it stands in the request, for messages. */
  readonly segment: string;
  readonly precondition: Precondition;
}

/** Parses the id in the path. */
export function parseNamedRow({ segment, header }: ResourceRequest, { table }: Resource): NamedRow {
  return { segment, key: parseKey(segment, table), ifMatch: header("if-match") };
}

/** The row to write to. Throws a 404 for an impossible id, and a 428 where `If-Match` is required. */
export function planTarget({ segment, key, ifMatch }: NamedRow, resource: Resource): RowTarget {
  if (key === null) throw notFound(resource, segment);
  return { key, segment, precondition: parsePrecondition(ifMatch, resource) };
}

/**
 * The parsed fields without the key, which no update changes. Throws a 422 where they hold another
 * key.
 */
export function withoutKey(
  values: ReadonlyMap<ColumnInfo, unknown>,
  key: Key,
  { table }: Resource,
  message = "must be the id of the path",
): ReadonlyMap<ColumnInfo, unknown> {
  const rest = new Map(values);
  table.primaryKey.forEach((column, index) => {
    if (!rest.has(column)) return;
    if (!isSameKeyValue(rest.get(column), key[index], column)) {
      throw new InvalidFields([{ path: column.name, message }]);
    }
    rest.delete(column);
  });
  return rest;
}

/** The rows that a grant lets a request write to: within its scope, visible and not deleted. */
export function writableRows({ grant, resource }: WriteCall): Filter {
  return and(grant.rows, grant.visible, resource.undeleted);
}

/** The row of the target, where the request may write to it. */
export function writableTarget(target: RowTarget, write: WriteCall): Filter {
  return and(keyFilter(target.key, write.resource.table), writableRows(write));
}

/**
 * The stored row, locked until the transaction ends and checked against the precondition. Throws
 * 404, 403 or 412.
 */
export async function lockTarget(
  target: RowTarget,
  write: WriteCall,
  connection: Connection,
): Promise<Row> {
  const row = await lockRow(writableTarget(target, write), write.resource, connection);
  if (row === null) throw await notFoundOrForbidden(target, write, connection);
  requirePrecondition(target.precondition, row, write.resource);
  return row;
}

/** The one row that the condition holds for, locked until the transaction ends; null for none. */
export async function lockRow(
  where: Filter,
  { table, reader }: Resource,
  connection: Connection,
): Promise<Row | null> {
  const { rows } = await fetchRows(connection, {
    kind: "read",
    table,
    columns: table.columns,
    where,
    order: [],
    after: null,
    limit: null,
    lock: true,
  }, reader);
  return rows[0] ?? null;
}

/**
 * Why a write met no row: `current` was read before and has changed since, the row is out of reach,
 * or a trigger or a rule of the table has kept it as it is.
 */
export async function targetNotWritten(
  target: RowTarget,
  current: Row | null,
  write: WriteCall,
  connection: Connection,
): Promise<Error> {
  const { etag } = write.resource;
  const stored = await lockRow(writableTarget(target, write), write.resource, connection);
  if (stored === null) return await notFoundOrForbidden(target, write, connection);
  const isChanged = current !== null && etag !== null &&
    tagOf(stored, etag) !== tagOf(current, etag);
  return isChanged ? preconditionFailed(tagOf(stored, etag)) : notKept(write.grant.access);
}

function notKept(access: Access): Problem {
  return access === "delete"
    ? new Problem("conflict", "Cannot delete: the database keeps this row")
    : new Problem("validation-error", `Cannot ${access}: the database did not keep the change`);
}

/**
 * Requires that written rows lie within the scope that they were written under: a user cannot
 * create or move a row out of reach. The database evaluates the scope inside the transaction, by
 * one query for all rows, so that it means here what it means in reads. Throws a 403, which rolls
 * back; `bodyPaths` are those of the rows, where the body holds several.
 */
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
  const problem = new Problem(
    "forbidden",
    `Cannot ${grant.access}: the row would lie outside your scope`,
  );
  throw atBodyPath(problem, bodyPaths[outside] ?? wholeBody);
}
