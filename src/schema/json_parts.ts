import { writeJson } from "./exact_json.ts";

/**
 * The JSON of a value in parts, which together are the text of {@link writeJson}. What
 * holds no further objects is one part: each of its members alone would cost several times as much.
 */
export function jsonParts(value: unknown): Iterable<string> {
  return holdsObjects(value, maxLevels) ? partsOf(value, maxLevels) : [writeJson(value)];
}

/** What lies deeper is one part. */
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
      // As `JSON.stringify` has it: no place of an array is left out.
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

/** Returns true if a value is written in parts: one that writes itself never is. */
function holdsObjects(value: unknown, levels: number): value is object {
  if (typeof value !== "object" || value === null || levels === 0 || "toJSON" in value) {
    return false;
  }
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.some((member) => typeof member === "object" && member !== null);
}

/** Undefined for what has no form in JSON, as a function: its member is left out. */
function textOf(value: unknown): string | undefined {
  return writeJson(value);
}
