import { unreachable } from "../../../problem/unreachable.ts";
import type { Assignments } from "../../../plan/plan.ts";
import type { ColumnInfo, Row } from "../../../schema/table_info.ts";
import { atBodyPath } from "../values/batch_items.ts";
import { resolveUnchanged } from "../values/echoed_values.ts";
import type { WriteConnection } from "../transaction/in_transaction.ts";
import { insertRows } from "../insert_rows.ts";
import { invalidField } from "../values/parse_fields.ts";
import { FailedWrite } from "../refused/failed_write.ts";
import { lockTarget, writableTarget } from "../row_target.ts";
import { updateIfSameVersion } from "../update_and_delete.ts";
import { relateRows } from "./relate/apply_change.ts";
import { changeableKeys, fixedKeyMessage, foreignKeysOf, hasValue } from "./foreign_keys.ts";
import {
  findRows,
  insertLinks,
  nestedWriteCall,
  problemAtPath,
  rowToUpdate,
} from "./nested_plan.ts";
import type { NestedRow, RelateStep, RowsStep } from "./nested_rows.ts";
import { storedRow, type WriteState } from "./prepare_steps.ts";
import type { BodyPath } from "../../model/operation.ts";

export async function writeSteps(state: WriteState, connection: WriteConnection): Promise<void> {
  const { plan, call, written } = state;
  // This lock serializes requests that write the same row and its relations, until the commit.
  const current = plan.updated === null
    ? null
    : await lockTarget(plan.updated.target, { ...call, grant: plan.grant }, connection);
  for (const step of plan.body.steps) {
    try {
      if (step.kind === "relate") {
        await relateRows(step, state, connection);
        continue;
      }
      const rows = step.kind === "update" && current !== null
        ? await updateNamed(step.rows, current, state, connection)
        : await writeStep(step, state, connection);
      step.rows.forEach((row, index) => {
        const stored = rows[index];
        if (stored !== undefined) written.set(row, stored);
      });
    } catch (error) {
      throw refusedStep(error, step);
    }
  }
}

async function writeStep(
  step: Exclude<RowsStep, RelateStep>,
  { plan, call, prepared, written }: WriteState,
  connection: WriteConnection,
): Promise<readonly Row[]> {
  const rowsToInsert = () =>
    step.rows.map((row): Assignments => {
      const values = prepared.values.get(row) ?? new Map();
      // The rows to which this row refers are written already, so their keys are known.
      return new Map([...values, ...foreignKeysOf(row, (from) => storedRow(from, written))]);
    });
  switch (step.kind) {
    case "find":
      return await findRows(step.rows, step.resource, plan.related, connection);
    case "link":
      await insertLinks(rowsToInsert(), step.table, call, connection);
      return [];
    case "create": {
      const bodyPaths = step.rows.map(({ bodyPath }) => bodyPath);
      const write = nestedWriteCall(step.resource, "create", plan, call);
      return await insertRows(rowsToInsert(), bodyPaths, write, connection);
    }
    case "update":
      throw new Error("Only the row that a request names is updated");
    default:
      return unreachable(step);
  }
}

async function updateNamed(
  [row]: readonly NestedRow[],
  current: Row,
  { plan, call, prepared, written }: WriteState,
  connection: WriteConnection,
): Promise<readonly Row[]> {
  if (row === undefined) throw new Error("An update names one row");
  const { target } = rowToUpdate(plan);
  const { resource } = plan.body;
  const foreignKeys = foreignKeysOf(row, (from) => storedRow(from, written));
  for (const { column, from, isFixed } of row.foreignKeySources) {
    if (isFixed !== true || hasValue(current, column, foreignKeys.get(column))) continue;
    throw atBodyPath(invalidField(fixedKeyMessage), from.bodyPath);
  }
  const values = new Map([
    ...prepared.values.get(row) ?? new Map(),
    ...changeableKeys(row, foreignKeys),
  ]);
  const write = nestedWriteCall(resource, "update", plan, call);
  const where = writableTarget(target, write);
  const set = resolveUnchanged(current, values, resource);
  return [await updateIfSameVersion({ target, current, where, set }, write, connection)];
}

function refusedStep(error: unknown, step: RowsStep): unknown {
  if (step.kind !== "relate") {
    const bodyPaths = step.rows.map(({ bodyPath }) => bodyPath);
    const columns = step.rows.flatMap(({ foreignKeySources }) => foreignKeySources)
      .map(({ column }) => column);
    return refusedRows(error, columns, bodyPaths);
  }
  const { relation: { steps: [near, far] }, changes } = step;
  const columns = [...near.other, ...far === undefined ? [] : far.own];
  const bodyPaths = changes.flatMap(({ connect, disconnect }) => [...connect, ...disconnect])
    .map(({ bodyPath }) => bodyPath);
  return refusedRows(error, columns, bodyPaths);
}

function refusedRows(
  error: unknown,
  filled: readonly ColumnInfo[],
  bodyPaths: readonly BodyPath[],
): unknown {
  if (!(error instanceof FailedWrite)) return problemAtPath(error, "create", bodyPaths);
  // References to rows that the rollback removes are omitted, because they are not the cause.
  const given = error.rows.map(({ values, ...bodyPath }) => ({
    ...bodyPath,
    values: new Map([...values].filter(([column]) => !filled.includes(column))),
  }));
  return filled.length === 0 ? error : new FailedWrite(error, error.resource, given);
}
