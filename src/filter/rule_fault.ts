import { showValue } from "../problem/show_value.ts";

/** The deployer's mistake in a rule, such as the use of a column that belongs to another table. */
export class RuleFault extends Error {}

/** Returns the fault for a value that is not a filter. `origin` says where the value is from. */
export function notFilter(value: unknown, origin = "it answered"): RuleFault {
  const hint = typeof value === "function" ? "call it with the user" : "use a rule such as all()";
  return new RuleFault(`${origin} ${showValue(value)}, not a filter: ${hint}`);
}
