import { nearestName } from "./nearest_name.ts";

/**
 * Requires that all given options are known, and refuses one that does not exist: a misspelt one
 * would silently have its default. `subject` begins the message, e.g.
 * `Cannot serve "notes": fields`.
 */
export function requireKnownOptions(
  given: object,
  known: Readonly<Record<string, true>>,
  subject: string,
): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const near = nearestName(unknown, Object.keys(known));
  const advice = near === null
    ? `; it has ${Object.keys(known).join(", ")}`
    : `: did you mean "${near}"?`;
  throw new Error(`${subject} has no option "${unknown}"${advice}`);
}
