/** The name of a type, and the numbers after the name, as in `numeric(12,2)`. */
export interface TypeParts {
  readonly name: string;
  readonly numbers: readonly number[];
}

export function typeParts(type: string): TypeParts {
  const numbers = /\(([\d,]+)\)/.exec(type)?.[1]?.split(",").map(Number) ?? [];
  return { name: type.replace(/\([\d,]+\)/, ""), numbers };
}

/** Returns true if the second type has enough digits: `numeric(12,2)` for `numeric(10,2)`. */
export function hasEnoughDigits(
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
