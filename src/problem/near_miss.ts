/** Names by their plain form, in which a near miss is looked up. */
export type NamesByPlain = ReadonlyMap<string, string>;

/** The names by their plain form; of several with the same one the first. */
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
 * The name that another one is a near miss of: so near that nothing else can be meant, where an
 * unknown name is otherwise no mistake. {@link nearestName} suggests more where it is one anyway.
 */
export function nearMissOf(name: string, names: NamesByPlain): string | undefined {
  const plain = plainName(name);
  return names.get(plain) ?? nearOf(plain, names);
}

/** Short names have no near ones. */
function nearOf(plain: string, names: NamesByPlain): string | undefined {
  if (plain.length < minNearLength - 1) return undefined;
  for (const [known, name] of names) {
    if (known.length >= minNearLength && isNear(plain, known)) return name;
  }
  return undefined;
}

const minNearLength = 5;

/** One character too many, too few or wrong, or two in the wrong order. */
function isNear(name: string, known: string): boolean {
  if (Math.abs(name.length - known.length) > 1) return false;
  let start = 0;
  while (start < known.length && name[start] === known[start]) start++;
  const left = name.slice(start);
  const right = known.slice(start);
  return left.slice(1) === right.slice(1) || left.slice(1) === right || left === right.slice(1) ||
    (left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2));
}
