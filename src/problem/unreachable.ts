import { showValue } from "./show_value.ts";

/** For the `default:` branch of a switch: if a case is missing, the code does not compile. */
export function unreachable(value: never): never {
  throw new Error(`Cannot go on: there is no case for ${showValue(value)}`);
}
