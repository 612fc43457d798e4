import { plainName } from "./near_miss.ts";

/**
 * The name nearest to a misspelt one by edit distance, for the hint in an error message; null when
 * none is near.
 */
export function nearestName(
  text: string,
  candidates: readonly string[],
  // Less than half of it may be wrong: "create" is not far from "read", and means something else.
  maxDistance = Math.ceil(text.length / 2) - 1,
): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(1, maxDistance) + 1;
  for (const candidate of candidates) {
    // A column may have no letters at all in its name, which nothing is a misspelling of.
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

/**
 * The name nearest to one that a client has sent, of those that it may know. Nearer than that of an
 * option must be: among many fields, half of a name is that of another one.
 */
export function nearestField(text: string, candidates: readonly string[]): string | null {
  // Each character is compared with all of every name.
  if (text.length > maxComparedLength) return null;
  const plain = plainName(text);
  const plainNames = candidates.map(plainName);
  const near = nearestName(plain, plainNames, Math.floor(plain.length / 3));
  return near === null ? null : candidates[plainNames.indexOf(near)] ?? null;
}

const maxComparedLength = 100;

/** The end of a message about an unknown field: asks for the {@link nearestField}, if there is one. */
export function didYouMean(text: string, candidates: readonly string[]): string {
  const near = nearestField(text, candidates);
  // As a selector quotes it.
  return near === null ? "" : `. Did you mean ${JSON.stringify(near)}?`;
}

/**
 * How many characters must be added, removed, changed or swapped with the next one to get from one
 * text to the other.
 */
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
