import { parseJson } from "../exact_json.ts";
import { isExactNumber } from "../exact_number.ts";
import { InvalidValue, type Kind } from "../kind.ts";
import { requireStorableText } from "./text_kind.ts";

/** JSON values of at most 32 levels. Numbers without exact doubles are bigint or `ExactNumber`. */
export const jsonKind: Kind = {
  fromJson(value) {
    requireJson(value, 0);
    return value;
  },
  fromText(text) {
    const value = parseJson(text);
    if (value === undefined) throw new InvalidValue("must be JSON");
    requireJson(value, 0);
    return value;
  },
  compare: null,
  ordered: false,
};

const maxDepth = 32;

/** Throws if a value is not JSON. Checks nested values, too: hooks can return anything. */
function requireJson(value: unknown, depth: number): void {
  if (value === null || typeof value === "boolean" || typeof value === "bigint") return;
  if (typeof value === "string") return requireStorableText(value);
  if (typeof value === "number") {
    if (Number.isFinite(value)) return;
    throw new InvalidValue("must not contain a number that is not finite");
  }
  if (isExactNumber(value)) return;
  if (depth === maxDepth) throw new InvalidValue(`must not be deeper than ${maxDepth} levels`);
  if (Array.isArray(value)) {
    for (const item of value) requireJson(item, depth + 1);
  } else if (isPlainObject(value)) {
    for (const [key, member] of Object.entries(value)) {
      requireStorableText(key);
      requireJson(member, depth + 1);
    }
  } else {
    throw new InvalidValue("must be a JSON value");
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
