import type { Assignments } from "../../../plan/plan.ts";
import type { Row } from "../../../schema/table_info.ts";
import type { RelatedWrite, ResourceCall } from "../../model/operation.ts";
import { atPathAsync } from "../values/batch_items.ts";
import { resolveUnchanged } from "../values/echoed_values.ts";
import { toHookObject } from "../values/parse_fields.ts";
import { withDefaults } from "../values/new_row_values.ts";
import { lockTarget } from "../row_target.ts";
import { beforeUpdate } from "../run_hooks.ts";
import { changeableKeys, foreignKeysOf } from "./foreign_keys.ts";
import { type NestedPlan, nestedWriteCall, rowToUpdate } from "./nested_plan.ts";
import {
  type NestedRow,
  ownCount,
  relatedWrites,
  type RelateStep,
  type RowsStep,
} from "./nested_rows.ts";
import {
  needsPreparing,
  prepareChange,
  prepareCreation,
  type PreparedChange,
} from "./relate/prepare_relation_change.ts";
import { protectedItems } from "./protected_items.ts";

interface Preparation {
  readonly values: Map<NestedRow, Assignments>;
  readonly current: Row | null;
  readonly plan: NestedPlan;
  readonly call: ResourceCall;
}

export async function prepareSteps(plan: NestedPlan, call: ResourceCall) {
  const changes = new Map<RelateStep, PreparedChange>();
  const values = new Map<NestedRow, Assignments>();
  const state: Preparation = { values, current: await readCurrent(plan, call), plan, call };
  const others: RelatedWrite[] = [];
  const charge = async (more: RelatedWrite) => {
    others.push(more);
    // The request was already charged for rows in the body, so only other rows are charged here.
    const { body } = plan;
    const { request: { debit } } = call;
    const items = protectedItems([...relatedWrites(body), ...others]);
    await debit.charge(
      ownCount(body),
      items.map(({ protection, count }) => ({
        protection: { ...protection, pow: null, captcha: null },
        count,
      })),
    );
  };
  for (const step of plan.body.steps) {
    if (step.kind === "relate") {
      if (!needsPreparing(step)) continue;
      const { driver } = call.resource;
      const rowOf = (row: NestedRow) => knownRow(row, state);
      const resolving = { rowOf, plan, call, connection: driver };
      changes.set(step, await prepareChange(step, resolving, charge));
      continue;
    }
    for (const row of step.rows) {
      const prepare = () => prepareRow(row, step, state);
      values.set(row, await atPathAsync(row.bodyPath, prepare));
    }
  }
  return { values, changes };
}

/** Reads the row before the hooks, because no hook must run for an update that fails. */
async function readCurrent(
  { updated, body: { steps }, ...plan }: NestedPlan,
  call: ResourceCall,
): Promise<Row | null> {
  if (updated === null) return null;
  const { resource } = call;
  const isHooked = resource.hooks.onBeforeUpdate !== undefined;
  const isNeeded = isHooked || steps.some((step) => step.kind === "relate" && needsPreparing(step));
  if (!isNeeded) return null;
  const current = await lockTarget(updated.target, { ...call, grant: plan.grant }, resource.driver);
  resolveUnchanged(current, updated.values, resource);
  return current;
}

/** Returns the row as it will be stored, without values that only the database generates. */
function knownRow(row: NestedRow, { values, current, plan, call }: Preparation): Row {
  const known = toHookObject(values.get(row) ?? row.given);
  if (plan.updated === null || row !== plan.body.rows[0]) return known;
  const { target: { key } } = plan.updated;
  const { primaryKey } = call.resource.table;
  const named = Object.fromEntries(primaryKey.map(({ name }, index) => [name, key[index]]));
  return { ...named, ...current, ...known };
}

async function prepareRow(
  row: NestedRow,
  step: Exclude<RowsStep, RelateStep>,
  state: Preparation,
): Promise<Assignments> {
  if (step.kind === "find") return row.given;
  // A foreign key is a placeholder until the database has generated the referenced key.
  const foreignKeys = foreignKeysOf(row, (from) => knownRow(from, state));
  const { plan, call } = state;
  switch (step.kind) {
    case "link":
      return withDefaults(foreignKeys, step);
    case "create": {
      const write = nestedWriteCall(step.resource, "create", plan, call);
      return await prepareCreation(row.given, foreignKeys, write);
    }
    case "update": {
      const { target: { key }, values } = rowToUpdate(plan);
      const hookedRow = { key, current: () => state.current ?? missingRow() };
      const related = changeableKeys(row, foreignKeys);
      const write = nestedWriteCall(step.resource, "update", plan, call);
      const hooked = await beforeUpdate(hookedRow, new Map([...values, ...related]), write);
      return new Map([...hooked, ...related]);
    }
  }
}

function missingRow(): never {
  throw new Error("The row of an update with a before-hook was not read");
}

export interface WriteState {
  readonly prepared: Awaited<ReturnType<typeof prepareSteps>>;
  readonly plan: NestedPlan;
  readonly call: ResourceCall;
  /** True in the last attempt, in which a conflict with another request fails the write. */
  readonly isLast: boolean;
  readonly written: Map<NestedRow, Row>;
}

export function storedRow(row: NestedRow, written: ReadonlyMap<NestedRow, Row>): Row {
  const stored = written.get(row);
  if (stored === undefined) throw new Error("A row of the body was not written");
  return stored;
}
