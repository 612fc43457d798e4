import { inspect } from "node:util";

/**
 * The unreachable `default:` branch of an exhaustive switch. The call does not compile while a case
 * is missing. At run time it throws for a value that the compiler did not expect.
 */
export function unreachable(value: never): never {
  throw new Error(`Cannot go on: there is no case for ${inspect(value, { depth: 0 })}`);
}
