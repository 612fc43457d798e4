import { showValue } from "./show_value.ts";

/** The `default:` branch of an exhaustive switch: a missing case does not compile. */
export function unreachable(value: never): never {
  throw new Error(`Cannot go on: there is no case for ${showValue(value)}`);
}
