import { showValue } from "../problem/show_value.ts";

/** A mistake in a rule of the program, such as a relation or a column of another table. */
export class RuleFault extends Error {}

/** Returns the fault of a rule that returned a value other than a filter. */
export function notFilter(value: unknown): RuleFault {
  const hint = typeof value === "function" ? "call it with the user" : "use a rule such as all()";
  return new RuleFault(`it answered ${showValue(value)}, not a filter: ${hint}`);
}
