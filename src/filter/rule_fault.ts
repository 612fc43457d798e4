import { showValue } from "../problem/show_value.ts";

/** A mistake in a rule of the program, such as a relation or a column of another table. */
export class RuleFault extends Error {}

/** Returns the fault of a value that is not a filter. `origin` names what had or returned it. */
export function notFilter(value: unknown, origin = "it answered"): RuleFault {
  const hint = typeof value === "function" ? "call it with the user" : "use a rule such as all()";
  return new RuleFault(`${origin} ${showValue(value)}, not a filter: ${hint}`);
}
