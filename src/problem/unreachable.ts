/**
 * The `default:` of a switch over every kind: the compiler refuses it while a case is missing, and
 * a value that got past the compiler ends the work here instead of going on as something else.
 */
export function unreachable(value: never): never {
  throw new Error(`Cannot go on: there is no case for ${Deno.inspect(value, { depth: 0 })}`);
}
