/**
 * Folds the case for every text operator, in SQL and in memory: Unicode simple lower case per code
 * point, with ς as σ. İ and the Kelvin sign stay unchanged: no non-ASCII code point folds to ASCII,
 * so engines can use their own folding for ASCII arguments. ß does not equal ss.
 */
export function fold(text: string): string {
  if (!irregular.test(text)) return text.toLowerCase();
  return text.replace(/[Σς]/g, "σ")
    .replace(/[^\u0130\u212a]+/g, (regular) => regular.toLowerCase());
}

/** Returns the code points, except `folded`, that fold to `folded`: for `é` the result is `É`. */
export function charactersFoldingTo(folded: string): string {
  const upper = folded.toUpperCase();
  const regular = upper !== folded && fold(upper) === folded ? upper : "";
  return regular + (irregularUppers.get(folded) ?? "");
}

export function isAscii(text: string): boolean {
  // deno-lint-ignore no-control-regex -- NUL is the first ASCII character
  return /^[\x00-\x7f]*$/.test(text);
}

/** Characters whose `toLowerCase` can differ from {@link fold}: Σ, ς, İ and the Kelvin sign. */
const irregular = /[\u0130\u212aΣς]/;

/** Maps letters to characters that fold to them but are not their upper case. A test checks all. */
const irregularUppers: ReadonlyMap<string, string> = new Map(
  ("ǆǅ ǉǈ ǌǋ ǳǲ σς θϴ ßẞ ω\u2126 å\u212b ᾀᾈ ᾁᾉ ᾂᾊ ᾃᾋ ᾄᾌ ᾅᾍ ᾆᾎ ᾇᾏ ᾐᾘ ᾑᾙ ᾒᾚ ᾓᾛ ᾔᾜ ᾕᾝ ᾖᾞ ᾗᾟ " +
    "ᾠᾨ ᾡᾩ ᾢᾪ ᾣᾫ ᾤᾬ ᾥᾭ ᾦᾮ ᾧᾯ ᾳᾼ ῃῌ ῳῼ")
    .split(" ")
    .map((pair) => [pair.charAt(0), pair.charAt(1)]),
);
