/** Names by their plain form, by which near misses are found. */
export type NamesByPlain = ReadonlyMap<string, string>;

/** Returns the names by their plain form. Of names with the same form, the first one is used. */
export function namesByPlain(names: Iterable<string>): NamesByPlain {
  const byPlain = new Map<string, string>();
  for (const name of names) {
    const plain = plainName(name);
    if (!byPlain.has(plain)) byPlain.set(plain, name);
  }
  return byPlain;
}

/** `order_by`, `orderby` and `orderBy` are one name. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}

/**
 * Returns the name that another name is a near miss of. It is so near that no other name can be
 * meant. It is for places where an unknown name is otherwise allowed. {@link nearestName} suggests
 * more names, for places where an unknown name is an error anyway.
 */
export function nearMissOf(name: string, names: NamesByPlain): string | undefined {
  const plain = plainName(name);
  return names.get(plain) ?? nearOf(plain, names);
}

/** Returns the near name. A short name has no near names. */
function nearOf(plain: string, names: NamesByPlain): string | undefined {
  if (plain.length < minNearLength - 1) return undefined;
  for (const [known, name] of names) {
    if (known.length >= minNearLength && isNear(plain, known)) return name;
  }
  return undefined;
}

const minNearLength = 5;

/**
 * Returns true if the names differ in one character too many, too few or wrong, or in two swapped
 * characters.
 */
function isNear(name: string, known: string): boolean {
  if (Math.abs(name.length - known.length) > 1) return false;
  let start = 0;
  while (start < known.length && name[start] === known[start]) start++;
  const left = name.slice(start);
  const right = known.slice(start);
  return left.slice(1) === right.slice(1) || left.slice(1) === right || left === right.slice(1) ||
    (left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2));
}
