import { inspect } from "node:util";

/**
 * The unreachable `default:` of an exhaustive switch. It does not compile while a case is missing.
 * It throws for a value that escaped the compiler.
 */
export function unreachable(value: never): never {
  throw new Error(`Cannot go on: there is no case for ${inspect(value, { depth: 0 })}`);
}
