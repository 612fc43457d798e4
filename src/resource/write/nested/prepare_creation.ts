import type { Assignments } from "../../../plan/plan.ts";
import type { WriteCall } from "../../model/operation.ts";
import { newRowValues } from "../values/new_row_values.ts";
import { beforeCreate } from "../run_hooks.ts";

/** Returns the values of a nested row to create, after its before-hook. */
export async function prepareCreation(
  given: Assignments,
  foreignKeys: Assignments,
  write: WriteCall,
): Promise<Assignments> {
  const filled = (values: Assignments) =>
    foreignKeys.size === 0 ? values : new Map([...values, ...foreignKeys]);
  const hooked = await beforeCreate(filled(given), write);
  const complete = newRowValues(filled(hooked), write.grant, write.resource);
  // Neither a hook nor a generated value may relate the row to a row outside of the body.
  for (const [column, value] of foreignKeys) complete.set(column, value);
  return complete;
}
