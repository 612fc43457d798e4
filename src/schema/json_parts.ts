import { writeJson } from "./exact_json.ts";

/** Yields the JSON of a value in parts. A value without nested objects is one part, for speed. */
export function jsonParts(value: unknown): Iterable<string> {
  return holdsObjects(value, maxLevels) ? partsOf(value, maxLevels) : [writeJson(value)];
}

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
      // As in `JSON.stringify`, an item that JSON cannot represent becomes null.
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

function holdsObjects(value: unknown, levels: number): value is object {
  if (typeof value !== "object" || value === null || levels === 0 || "toJSON" in value) {
    return false;
  }
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.some((member) => typeof member === "object" && member !== null);
}

function textOf(value: unknown): string | undefined {
  return writeJson(value);
}
