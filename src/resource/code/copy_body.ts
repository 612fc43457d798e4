import { Problem } from "../../problem/problem.ts";
import { bytesToBase64 } from "../../protocol/byte_text.ts";
import { isExactNumber } from "../../schema/exact_number.ts";
import { numberOrBigint } from "../../schema/kinds/number_kinds.ts";

/** Equals the maximum nesting depth of a request body. */
const maxLevels = 32;

/**
 * Copies a value that code passes instead of a JSON body, so that hooks and the service do not
 * change the caller's object. Dates become strings, bytes become base64, undefined members are
 * omitted, and integers keep all digits. Throws a 400 for other values.
 */
export function copyBody(value: unknown, levels = maxLevels): unknown {
  switch (typeof value) {
    case "number":
      if (!Number.isFinite(value)) throw unusable("a number in it is not finite");
      // `JSON.stringify` writes a negative zero as 0, too.
      return value === 0 ? 0 : value;
    case "bigint":
      return numberOrBigint(value);
    case "function":
    case "symbol":
      throw unusable(`it holds a ${typeof value}`);
    case "object":
      return value === null ? null : copyObject(value, levels);
    default:
      return value;
  }
}

function copyObject(value: object, levels: number): unknown {
  if (isExactNumber(value)) return value;
  if (ArrayBuffer.isView(value)) {
    return bytesToBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
  if (value instanceof Date && Number.isNaN(value.getTime())) throw unusable("a date is invalid");
  if ("toJSON" in value && typeof value.toJSON === "function") {
    return copyBody(value.toJSON(), levels);
  }
  if (value instanceof Map || value instanceof Set) throw unusable("it holds a Map or a Set");
  if (levels === 0) throw unusable(`it is nested deeper than ${maxLevels}`);
  // `JSON.stringify` also writes an undefined item of an array as null.
  if (Array.isArray(value)) {
    return Array.from(value, (item: unknown) => copyBody(item, levels - 1) ?? null);
  }
  const copy: object = {};
  for (const [name, member] of Object.entries(value)) {
    const copied = copyBody(member, levels - 1);
    if (copied === undefined) continue;
    // An assignment to the member `__proto__` would change the object's prototype.
    Object.defineProperty(copy, name, {
      value: copied,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
}

function unusable(reason: string): Problem {
  return new Problem("invalid-body", `Cannot use this body: ${reason}`);
}
