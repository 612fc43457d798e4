export function nearestName(
  text: string,
  candidates: readonly string[],
  // Fewer than half of the letters may differ. Otherwise "create" would be similar to "read".
  maxDistance = Math.ceil(text.length / 2) - 1,
): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(1, maxDistance) + 1;
  for (const candidate of candidates) {
    // A name such as `_` has an empty normal form, which is similar to no other name.
    if (candidate === "") continue;
    if (Math.abs(candidate.length - text.length) >= bestDistance) continue;
    const distance = editDistance(text, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** {@link nearestName} with a stricter limit, because different field names share many letters. */
export function nearestField(text: string, candidates: readonly string[]): string | null {
  // Long names are not compared, because the time grows with the square of the length.
  if (text.length > maxComparedLength) return null;
  const plain = normalFormOf(text);
  const plainNames = candidates.map(normalFormOf);
  const near = nearestName(plain, plainNames, Math.floor(plain.length / 3));
  return near === null ? null : candidates[plainNames.indexOf(near)] ?? null;
}

const maxComparedLength = 100;

export function didYouMean(text: string, candidates: readonly string[]): string {
  const near = nearestField(text, candidates);
  // Shows the name in quotes, because the name can contain any characters.
  return near === null ? "" : `. Did you mean ${JSON.stringify(near)}?`;
}

function editDistance(from: string, to: string): number {
  let above: readonly number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const changed = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwapped ? (above[j - 2] ?? 0) + 1 : Infinity;
      next.push(Math.min(changed, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    above = row;
    row = next;
  }
  return row[to.length] ?? 0;
}

type NamesByNormalForm = ReadonlyMap<string, string>;

/** Returns the names by their normal form. Of names with an equal form, the first is used. */
export function namesByNormalForm(names: Iterable<string>): NamesByNormalForm {
  const byPlain = new Map<string, string>();
  for (const name of names) {
    const plain = normalFormOf(name);
    if (!byPlain.has(plain)) byPlain.set(plain, name);
  }
  return byPlain;
}

export function normalFormOf(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}

/** Returns a known name that differs in one character at most. {@link nearestName} allows more. */
export function nearMissOf(name: string, names: NamesByNormalForm): string | undefined {
  const plain = normalFormOf(name);
  return names.get(plain) ?? nearOf(plain, names);
}

function nearOf(plain: string, names: NamesByNormalForm): string | undefined {
  if (plain.length < minNearLength - 1) return undefined;
  for (const [known, name] of names) {
    if (known.length < minNearLength || Math.abs(plain.length - known.length) > 1) continue;
    if (editDistance(plain, known) <= 1) return name;
  }
  return undefined;
}

const minNearLength = 5;
