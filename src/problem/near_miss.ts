/** Known names by their normalized form, to find the name that a client has misspelt. */
export type NamesByNormalForm = ReadonlyMap<string, string>;

/** Returns the names by their normalized form. If names have an equal form, the first is used. */
export function namesByNormalForm(names: Iterable<string>): NamesByNormalForm {
  const byPlain = new Map<string, string>();
  for (const name of names) {
    const plain = normalFormOf(name);
    if (!byPlain.has(plain)) byPlain.set(plain, name);
  }
  return byPlain;
}

/** Returns the form in which `order_by`, `orderby` and `orderBy` are equal. */
export function normalFormOf(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}

/**
 * Returns the known name that is so similar to `name` that no other name can be meant. Use this
 * function if unknown names are allowed otherwise. If unknown names are errors, use
 * {@link nearestName}, which also returns less similar names.
 */
export function nearMissOf(name: string, names: NamesByNormalForm): string | undefined {
  const plain = normalFormOf(name);
  return names.get(plain) ?? nearOf(plain, names);
}

/** Returns the first similar name. A short name has no similar names. */
function nearOf(plain: string, names: NamesByNormalForm): string | undefined {
  if (plain.length < minNearLength - 1) return undefined;
  for (const [known, name] of names) {
    if (known.length >= minNearLength && isNear(plain, known)) return name;
  }
  return undefined;
}

const minNearLength = 5;

/** Returns true if the names differ by one added, removed or changed character, or by one swap. */
function isNear(name: string, known: string): boolean {
  if (Math.abs(name.length - known.length) > 1) return false;
  let start = 0;
  while (start < known.length && name[start] === known[start]) start++;
  const left = name.slice(start);
  const right = known.slice(start);
  return left.slice(1) === right.slice(1) || left.slice(1) === right || left === right.slice(1) ||
    (left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2));
}
