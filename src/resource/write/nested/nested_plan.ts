import type { Grant } from "../../../auth/authorize.ts";
import type { Assignments } from "../../../plan/plan.ts";
import type { Resource } from "../../model/resource.ts";
import type {
  AdditionalGrants,
  BodyPath,
  RelatedWrite,
  ResourceCall,
  WriteCall,
} from "../../model/operation.ts";
import type { RowTarget } from "../row_target.ts";
import type { NestedRow, NestedRows } from "./nested_rows.ts";
import type { Connection } from "../../../db/driver.ts";
import { and } from "../../../filter/filter.ts";
import { chunksOf, type Key, keyId } from "../../../plan/key.ts";
import type { Row, TableInfo } from "../../../schema/table_info.ts";
import { atBodyPath, wholeBody } from "../values/batch_items.ts";
import { invalidField } from "../values/parse_fields.ts";
import { readByKeys } from "../read_rows_to_write.ts";
import { DatabaseError, databaseProblem } from "../../../db/database_error.ts";
import { Problem } from "../../../problem/problem.ts";

export interface NestedPlan extends Pick<AdditionalGrants, "written" | "related"> {
  readonly body: NestedRows;
  readonly grant: Grant;
  readonly updated: RowToUpdate | null;
}

interface RowToUpdate {
  readonly target: RowTarget;
  readonly values: Assignments;
}

export function rowToUpdate({ updated }: NestedPlan): RowToUpdate {
  if (updated === null) throw new Error("Only a plan that names a row updates one");
  return updated;
}

export function nestedWriteCall(
  resource: Resource,
  access: RelatedWrite["access"],
  { body, grant, written }: NestedPlan,
  call: ResourceCall,
): WriteCall {
  const isOwn = resource === body.resource && access === body.access;
  const right = isOwn ? grant : written.get(access)?.get(resource);
  if (right === undefined) {
    throw new Error(`There is no grant to ${access} rows of ${resource.name}`);
  }
  return { ...call, resource, grant: right };
}

/** Finds rows by key, in the order of `rows`. Missing and unreadable rows cause the same 422. */
export async function findRows(
  rows: readonly NestedRow[],
  resource: Resource,
  related: ReadonlyMap<Resource, Grant>,
  connection: Connection,
): Promise<readonly Row[]> {
  const { table, undeleted } = resource;
  const right = related.get(resource);
  const keys = rows.map((row) => keyOfExistingRow(row, resource));
  const found = right === undefined ? new Map<string, Row>() : await readByKeys(
    { keys, where: and(right.rows, undeleted), columns: resource.stored },
    resource,
    connection,
  );
  return rows.map(({ bodyPath }, index) => {
    const row = found.get(keyId(keys[index] ?? [], table));
    if (row !== undefined) return row;
    throw atBodyPath(invalidField("names no row"), bodyPath);
  });
}

export function keyOfExistingRow({ given }: NestedRow, { table }: Resource): Key {
  return table.primaryKey.map((column) => given.get(column));
}

/** Inserts rows of a link table that no resource serves. These rows have no scope and no hooks. */
export async function insertLinks(
  rows: readonly Assignments[],
  table: TableInfo,
  { resource: { driver, reader } }: ResourceCall,
  connection: Connection,
): Promise<void> {
  const columns = [...rows[0]?.keys() ?? []];
  for (const some of chunksOf(rows, Math.floor(driver.dialect.maxValues / columns.length))) {
    const plan = { kind: "insert" as const, table, columns, rows: some, returning: [] };
    await connection.query(reader.compile(plan));
  }
}

export function commonBodyPath(bodyPaths: readonly BodyPath[]): BodyPath {
  const [first, another] = bodyPaths;
  if (first !== undefined && another === undefined) return first;
  const path = commonPath(bodyPaths);
  return path === null ? wholeBody : { path, details: { path } };
}

/** Adds the rows' common body path to the problem: the database does not name the failed row. */
export function problemAtPath(
  error: unknown,
  access: RelatedWrite["access"],
  bodyPaths: readonly BodyPath[],
): unknown {
  if (!(error instanceof DatabaseError) || error.kind === "retryable") return error;
  const problem = databaseProblem(error, access);
  const path = commonPath(bodyPaths);
  const hasPath = problem instanceof Problem && problem.status < 500 && path !== null;
  return hasPath ? atBodyPath(problem, { path, details: { path } }) : error;
}

function commonPath([first, ...others]: readonly BodyPath[]): string | null {
  if (first?.details["path"] === undefined) return null;
  const shared = first.path.split(".");
  for (const { path } of others) {
    const names = path.split(".");
    const end = shared.findIndex((name, index) => name !== names[index]);
    if (end >= 0) shared.length = end;
  }
  return shared.length === 0 ? null : shared.join(".");
}
