import { inspect } from "node:util";

/** The `default:` branch of an exhaustive switch: a missing case does not compile. */
export function unreachable(value: never): never {
  throw new Error(`Cannot go on: there is no case for ${inspect(value, { depth: 0 })}`);
}
