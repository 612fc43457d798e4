/**
 * The media type of `offered` that an `Accept` header prefers (RFC 9110, 12.5.1). Between types of
 * equal quality, one that the header names precedes one that a wildcard matches, then the first
 * offered precedes. Without an acceptable type it is the first offered as well: an answer in another
 * form helps more than a refusal, and the RFC allows it.
 */
export function acceptedType(
  accept: string | null,
  offered: readonly [string, ...string[]],
): string {
  const ranges = accept === null ? [] : parseAccept(accept);
  let [best] = offered;
  let bestRank = 0;
  for (const type of offered) {
    const rank = rankOf(type, ranges);
    if (rank <= bestRank) continue;
    best = type;
    bestRank = rank;
  }
  return best;
}

interface MediaRange {
  /** In lower case, without parameters: `text/csv`, `text/*`. */
  readonly type: string;
  /** From 0, not acceptable, to 1. */
  readonly quality: number;
}

/** The well-formed ranges of the header; malformed ones are ignored. */
function parseAccept(header: string): readonly MediaRange[] {
  const ranges: MediaRange[] = [];
  for (const element of header.match(listElement) ?? []) {
    const [range = "", ...parameters] = element.match(parameter) ?? [];
    const type = range.trim().toLowerCase();
    const quality = qualityOf(parameters);
    if (mediaRange.test(type) && quality !== null) ranges.push({ type, quality });
  }
  return ranges;
}

// A comma or semicolon within quotes separates nothing.
const listElement = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
const parameter = /(?:[^;"]|"(?:[^"\\]|\\.)*"?)+/g;
const mediaRange = /^(?:\*\/\*|[!#$%&'+.^_`|~\w-]+\/(?:\*|[!#$%&'+.^_`|~\w-]+))$/;
const qualityValue = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

function qualityOf(parameters: readonly string[]): number | null {
  for (const text of parameters) {
    const [name = "", value = ""] = text.split("=");
    if (name.trim().toLowerCase() !== "q") continue;
    return qualityValue.test(value.trim()) ? Number(value) : null;
  }
  return 1;
}

/** The quality, and a little more for a type that the header names; 0 where it is unacceptable. */
function rankOf(type: string, ranges: readonly MediaRange[]): number {
  const [family] = type.split("/");
  // The most specific range decides, even where its quality is 0.
  for (const name of [type, `${family}/*`, "*/*"]) {
    const range = ranges.find((other) => other.type === name);
    if (range === undefined) continue;
    return range.quality > 0 && name === type ? range.quality + minStep / 2 : range.quality;
  }
  return 0;
}

/** Qualities have three digits. */
const minStep = 0.001;
