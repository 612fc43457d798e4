/** The parts of a type: its name, and its numbers. */
export interface TypeParts {
  readonly name: string;
  readonly numbers: readonly number[];
}

/** Parses a type: `numeric(12,2)`. */
export function typeParts(type: string): TypeParts {
  const numbers = /\(([\d,]+)\)/.exec(type)?.[1]?.split(",").map(Number) ?? [];
  return { name: type.replace(/\([\d,]+\)/, ""), numbers };
}

/** `numeric(12,2)` has room for `numeric(10,2)`; a type without numbers has room for all. */
export function hasRoom(
  { name, numbers }: TypeParts,
  { numbers: [size, scale = 0] }: TypeParts,
): boolean {
  if (size === undefined) return true;
  const [before, scaleBefore = 0] = numbers;
  if (before === undefined) return name.startsWith("time") && size === 6;
  return name === "numeric"
    ? scale >= scaleBefore && size - scale >= before - scaleBefore
    : size >= before;
}
