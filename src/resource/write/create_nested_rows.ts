import type { Grant } from "../../auth/authorize.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { databaseProblem } from "../../db/database_problem.ts";
import type { Connection } from "../../db/driver.ts";
import { and } from "../../filter/filter.ts";
import { chunksOf, keyId } from "../../plan/key.ts";
import { type Assignments, databaseDefault } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import { unreachable } from "../../problem/unreachable.ts";
import { canonicalValueText } from "../../schema/canonical_value.ts";
import { kindOfColumn } from "../../schema/structured/kind_of_column.ts";
import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { insertRows } from "./insert_rows.ts";
import { readByKeys } from "./read_rows_to_write.ts";
import { beforeCreate } from "./run_hooks.ts";
import type { NestedRow, NestedRows, RowsStep } from "./nested_rows.ts";
import { FailedWrite } from "./refused/failed_write.ts";
import { InvalidFields, withDefaults } from "./parse_fields.ts";
import { inTransaction, type WriteConnection } from "./in_transaction.ts";
import { newRowValues } from "./new_row_values.ts";
import { requireFittingReply } from "../http/json_reply.ts";
import { idsOfRows, recordIds, type WrittenRows } from "./record_ids.ts";
import type { OperationCall, RelatedGrants, ResourceCall, WriteCall } from "../operation.ts";
import { type Included, viewOf } from "../output.ts";
import { atBodyPath, type BodyPath, withinAsync } from "./body_path.ts";
import type { Resource } from "../define/resource.ts";

/** The plan to create rows with the rows nested in them, and the grants for them. */
export interface CreatePlan extends Pick<RelatedGrants, "created" | "related"> {
  readonly body: NestedRows;
  /** For creating rows of the resource itself. */
  readonly grant: Grant;
  /** The optimistic ids of the rows of the top level, in their order; null for none. */
  readonly ids: readonly (string | null)[];
}

/** The created rows of the top level, and the created rows nested in them. */
export interface CreatedRows extends WrittenRows {
  readonly included: readonly Included[];
}

/**
 * Creates rows with the rows nested in them: runs all before-hooks, then writes all rows in one
 * transaction, after-hooks included.
 */
export async function createNestedRows(
  plan: CreatePlan,
  call: OperationCall<CreatedRows>,
): Promise<CreatedRows> {
  const values: PreparedRows = new Map();
  for (const step of plan.body.steps) {
    for (const row of step.rows) {
      const prepare = () => prepareRow(row, step, { values, plan, call });
      values.set(row, await withinAsync(row.bodyPath, prepare));
    }
  }
  const idsOf = idsOfRows(plan.ids, call.resource.table);
  return await inTransaction(call, async (connection) => {
    const written = new Map<NestedRow, Row>();
    const { written: rows, recorded } = await recordIds(
      idsOf,
      call.resource,
      connection,
      () => writeSteps({ values, written, plan, call }, connection),
    );
    const included = embeddedIn(plan.body.rows, written);
    // A row that exists already is of any size, and many may link it.
    requireFittingReply(rows, call.resource, included);
    return { rows, included, recorded };
  });
}

/** Writes all rows; gives those of the top level. */
async function writeSteps(
  state: WriteState,
  connection: WriteConnection,
): Promise<readonly Row[]> {
  const { plan: { body }, written } = state;
  for (const step of body.steps) {
    const rows = await writeStep(step, state, connection);
    step.rows.forEach((row, index) => {
      const stored = rows[index];
      if (stored !== undefined) written.set(row, stored);
    });
  }
  return storedRows(body.rows, written);
}

/** The values of rows before the transaction. */
type PreparedRows = Map<NestedRow, Assignments>;

interface Preparation {
  readonly values: PreparedRows;
  readonly plan: CreatePlan;
  readonly call: ResourceCall;
}

interface WriteState extends Preparation {
  /** Grows with each step. */
  readonly written: Map<NestedRow, Row>;
}

async function prepareRow(
  row: NestedRow,
  step: RowsStep,
  { values, plan, call }: Preparation,
): Promise<Assignments> {
  if (step.kind === "find") return row.given;
  // The database has not made this key yet: the column keeps a placeholder.
  const foreignKeySources = row.foreignKeySources.map(({ column, from, source }) => {
    const known = values.get(from)?.get(source);
    const isKnown = known !== undefined && known !== databaseDefault;
    return [column, isKnown ? valueFor(column, known, source) : databaseDefault] as const;
  });
  if (step.kind === "link") return withDefaults(new Map(foreignKeySources), step);
  const write = writeTo(step.resource, plan, call);
  const given = foreignKeySources.length === 0
    ? row.given
    : new Map([...row.given, ...foreignKeySources]);
  const hooked = await beforeCreate(given, write);
  const filledByRelation = foreignKeySources.length === 0
    ? hooked
    : new Map([...hooked, ...foreignKeySources]);
  const complete = newRowValues(filledByRelation, write.grant, step.resource);
  // Neither a hook nor a generated value may relate the row to another one than the body does.
  for (const [column, value] of foreignKeySources) complete.set(column, value);
  return complete;
}

function writeTo(
  resource: Resource,
  { grant, created }: CreatePlan,
  call: ResourceCall,
): WriteCall {
  const right = resource === call.resource ? grant : created.get(resource);
  if (right === undefined) throw new Error(`There is no grant to create rows of ${resource.name}`);
  return { ...call, resource, grant: right };
}

/** Writes the rows of a step and gives them as they are stored; links give none. */
async function writeStep(
  step: RowsStep,
  writing: WriteState,
  connection: WriteConnection,
): Promise<readonly Row[]> {
  const { plan, call } = writing;
  const bodyPaths = step.rows.map(({ bodyPath }) => bodyPath);
  try {
    switch (step.kind) {
      case "find":
        return await findRows(step.rows, step.resource, plan, connection);
      case "link":
        await insertLinks(
          step.rows.map((row) => withForeignKeys(row, writing)),
          step,
          call,
          connection,
        );
        return [];
      case "create": {
        const rows = step.rows.map((row) => withForeignKeys(row, writing));
        return await insertRows(rows, bodyPaths, writeTo(step.resource, plan, call), connection);
      }
      default:
        return unreachable(step);
    }
  } catch (error) {
    if (error instanceof FailedWrite) throw withoutSources(error, step);
    throw problemAtPath(error, bodyPaths);
  }
}

/** After the transaction the rows of the body that others refer to are gone: that is no fault. */
function withoutSources(error: FailedWrite, { rows }: RowsStep): FailedWrite {
  const filled = new Set(
    rows.flatMap(({ foreignKeySources }) => foreignKeySources.map(({ column }) => column)),
  );
  if (filled.size === 0) return error;
  const given = error.rows.map(({ values, ...bodyPath }) => ({
    ...bodyPath,
    values: new Map([...values].filter(([column]) => !filled.has(column))),
  }));
  return new FailedWrite(error, error.resource, given);
}

/** The values of a row with its foreign keys: the rows that it refers to are written. */
function withForeignKeys(row: NestedRow, { values, written }: WriteState): Assignments {
  const prepared = values.get(row) ?? new Map();
  if (row.foreignKeySources.length === 0) return prepared;
  const unrelated = (message: string) =>
    atBodyPath(
      new InvalidFields([{ path: "", message: `cannot be related: ${message}` }]),
      row.bodyPath,
    );
  const filled = new Map<ColumnInfo, unknown>();
  for (const { column, from, source } of row.foreignKeySources) {
    const stored = written.get(from)?.[source.name] ?? null;
    if (stored === null) throw unrelated("the other row has no value to refer to");
    const value = valueFor(column, stored, source);
    // Two keys of a link may share a column, in which the rows that it links must agree.
    const known = filled.get(column) ?? value;
    if (canonicalValueText(known, column) !== canonicalValueText(value, column)) {
      throw unrelated(`the rows differ in what "${column.name}" refers to`);
    }
    filled.set(column, value);
  }
  return new Map([...prepared, ...filled]);
}

/** In existing tables the kinds of both columns may differ: a text may refer to a number. */
function valueFor(column: ColumnInfo, value: unknown, source: ColumnInfo): unknown {
  if (value === null || column.kind === source.kind) return value;
  return kindOfColumn(column).fromText(String(value), column);
}

/** Looks up rows to link. A missing row and one that the user may not read give the same error. */
async function findRows(
  rows: readonly NestedRow[],
  resource: Resource,
  { related }: CreatePlan,
  connection: Connection,
): Promise<readonly Row[]> {
  const { table, undeleted } = resource;
  const right = related.get(resource);
  const keys = rows.map(({ given }) => table.primaryKey.map((column) => given.get(column)));
  const found = right === undefined ? new Map<string, Row>() : await readByKeys(
    { keys, where: and(right.rows, undeleted), columns: table.columns },
    resource,
    connection,
  );
  return rows.map(({ bodyPath }, index) => {
    const row = found.get(keyId(keys[index] ?? [], table));
    if (row !== undefined) return row;
    throw atBodyPath(new InvalidFields([{ path: "", message: "names no row" }]), bodyPath);
  });
}

/** Inserts rows of a link table that no resource serves, and so without scope and hooks. */
async function insertLinks(
  rows: readonly Assignments[],
  { table }: Extract<RowsStep, { readonly kind: "link" }>,
  { resource: { driver, reader } }: ResourceCall,
  connection: Connection,
): Promise<void> {
  const columns = [...rows[0]?.keys() ?? []];
  for (const some of chunksOf(rows, Math.floor(driver.dialect.maxValues / columns.length))) {
    const plan = { kind: "insert" as const, table, columns, rows: some, returning: [] };
    await connection.query(reader.compile(plan));
  }
}

/**
 * The error of a step as a problem with the path of its rows, as precise as one statement for many
 * rows allows. An error that another try may mend stays as it is.
 */
function problemAtPath(error: unknown, bodyPaths: readonly BodyPath[]): unknown {
  if (!(error instanceof DatabaseError) || error.kind === "retryable") return error;
  const problem = databaseProblem(error, "create");
  const path = commonPath(bodyPaths);
  const hasPath = problem instanceof Problem && problem.status < 500 && path !== null;
  return hasPath ? atBodyPath(problem, { path, details: { path } }) : error;
}

/** The path that all embedded rows share: `albums` for `albums.0` and `albums.1`. */
function commonPath([first, ...others]: readonly BodyPath[]): string | null {
  if (first?.details.path === undefined) return null;
  const shared = first.path.split(".");
  for (const { path } of others) {
    const names = path.split(".");
    const end = shared.findIndex((name, index) => name !== names[index]);
    if (end >= 0) shared.length = end;
  }
  return shared.length === 0 ? null : shared.join(".");
}

function storedRows(
  rows: readonly NestedRow[],
  written: ReadonlyMap<NestedRow, Row>,
): readonly Row[] {
  return rows.map((row) => {
    const stored = written.get(row);
    if (stored === undefined) throw new Error("A row of the body was not written");
    return stored;
  });
}

/** The embedded rows as a read would include them, under the names of the body. */
function embeddedIn(
  around: readonly NestedRow[],
  written: ReadonlyMap<NestedRow, Row>,
): readonly Included[] {
  const found = new Map<Relation, Embedded>();
  around.forEach(({ embedded }, place) => {
    for (const { relation, target, rows } of embedded) {
      const known = found.get(relation);
      const one = known ?? { target, rows: [], places: [], placeOf: around.map(() => null) };
      if (known === undefined) found.set(relation, one);
      one.rows.push(...rows);
      one.places.push(...rows.map(() => place));
      one.placeOf[place] = place;
    }
  });
  return [...found].map(([relation, { target, rows, places, placeOf }]) => ({
    relation,
    view: viewOf(target),
    rows: storedRows(rows, written),
    read: target.table.columns,
    places,
    placeOf,
    included: embeddedIn(rows, written),
  }));
}

/** The rows that a level embeds under one name. */
interface Embedded {
  readonly target: Resource;
  readonly rows: NestedRow[];
  readonly places: number[];
  readonly placeOf: (number | null)[];
}
