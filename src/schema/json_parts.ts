import { writeJson } from "./exact_json.ts";

/**
 * Yields the JSON of a value in parts, which together equal the result of {@link writeJson}. A
 * value without nested objects is one part, because a part for each member would be several times
 * slower.
 */
export function jsonParts(value: unknown): Iterable<string> {
  return holdsObjects(value, maxLevels) ? partsOf(value, maxLevels) : [writeJson(value)];
}

/** Maximum nesting depth of values that are divided. Deeper values are written as one part. */
const maxLevels = 8;

function partsOf(value: object, levels: number): Generator<string> {
  return Array.isArray(value) ? partsOfArray(value, levels) : partsOfObject(value, levels);
}

function* partsOfArray(items: readonly unknown[], levels: number): Generator<string> {
  let before = "[";
  for (const item of items) {
    if (holdsObjects(item, levels - 1)) {
      yield before;
      yield* partsOf(item, levels - 1);
    } else {
      // `JSON.stringify` also writes an item without a JSON form as null.
      yield before + (textOf(item) ?? "null");
    }
    before = ",";
  }
  yield "]";
}

function* partsOfObject(object: object, levels: number): Generator<string> {
  let before = "{";
  for (const [name, member] of Object.entries(object)) {
    const start = `${before}${JSON.stringify(name)}:`;
    if (holdsObjects(member, levels - 1)) {
      yield start;
      yield* partsOf(member, levels - 1);
    } else {
      const text = textOf(member);
      if (text === undefined) continue;
      yield start + text;
    }
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}

/** Returns true if a value is written in parts. A value with `toJSON` is always one part. */
function holdsObjects(value: unknown, levels: number): value is object {
  if (typeof value !== "object" || value === null || levels === 0 || "toJSON" in value) {
    return false;
  }
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.some((member) => typeof member === "object" && member !== null);
}

/** Returns the JSON of a value, or undefined for a value without JSON, such as a function. */
function textOf(value: unknown): string | undefined {
  return writeJson(value);
}
