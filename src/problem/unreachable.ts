import { inspect } from "node:util";

/**
 * The `default:` branch of an exhaustive switch. If a case is missing, the call does not compile.
 * At run time, throws for a value outside of the type.
 */
export function unreachable(value: never): never {
  throw new Error(`Cannot go on: there is no case for ${inspect(value, { depth: 0 })}`);
}
