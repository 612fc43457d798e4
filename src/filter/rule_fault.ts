import { showValue } from "../problem/show_value.ts";

export class RuleFault extends Error {}

export function notFilter(value: unknown, origin = "it answered"): RuleFault {
  const hint = typeof value === "function" ? "call it with the user" : "use a rule such as all()";
  return new RuleFault(`${origin} ${showValue(value)}, not a filter: ${hint}`);
}
