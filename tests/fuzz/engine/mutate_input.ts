import type { SeededRandom } from "./random.ts";

/** The sources of a mutation: other inputs, and strings that occur in the code of the parser. */
export interface MutationSources {
  readonly inputs: readonly string[];
  readonly words: readonly string[];
}

const maxLength = 2_000;

/** Returns a changed copy of an input, by one to eight random changes. */
export function mutateInput(
  input: string,
  sources: MutationSources,
  random: SeededRandom,
): string {
  let text = input;
  for (let left = 1 + random.below(random.below(4) === 0 ? 8 : 3); left > 0; left--) {
    text = random.of(changes)(text, sources, random);
  }
  return text.slice(0, maxLength);
}

type Change = (text: string, sources: MutationSources, random: SeededRandom) => string;

/** The characters that most often matter to a parser, and some that often surprise it. */
const characters = [
  ...`"'()[]{},;:.=<>!~&|%*?+-_/\\@#$^\` \t\n\r0123456789abcxyzABCXYZeE`,
  ..."\0\x01\x7f\x80\xa0\xff\u0130\u0131\u00df\u2028\u3000\ufeff\ufffd\ud800\udc00é👍ß",
];

const changes: readonly Change[] = [
  (text, _, random) => spliced(text, random, 0, random.of(characters)),
  (text, _, random) => spliced(text, random, 1, random.of(characters)),
  (text, _, random) => spliced(text, random, 1 + random.below(4), ""),
  (text, _, random) => spliced(text, random, 1 + random.below(text.length), ""),
  (text, { words }, random) => spliced(text, random, 0, random.of(words)),
  (text, { words }, random) => spliced(text, random, 1 + random.below(5), random.of(words)),
  (text, { inputs }, random) => {
    const other = random.of(inputs);
    return text.slice(0, random.below(text.length + 1)) +
      other.slice(random.below(other.length + 1));
  },
  (text, { inputs }, random) => spliced(text, random, 0, part(random.of(inputs), random)),
  (text, _, random) => spliced(text, random, 0, part(text, random)),
  (text, _, random) => spliced(text, random, 0, part(text, random).repeat(1 + random.below(12))),
  (text, _, random) => text.slice(0, random.below(text.length + 1)),
  (text, _, random) => replacedNumber(text, random),
  (text, _, random) => {
    const at = random.below(text.length + 1);
    const cased = text.charAt(at).toUpperCase();
    const other = cased === text.charAt(at) ? cased.toLowerCase() : cased;
    return text.slice(0, at) + other + text.slice(at + 1);
  },
];

function spliced(text: string, random: SeededRandom, deleted: number, inserted: string): string {
  const at = random.below(text.length + 1);
  return text.slice(0, at) + inserted + text.slice(at + deleted);
}

function part(text: string, random: SeededRandom): string {
  const from = random.below(text.length + 1);
  return text.slice(from, from + 1 + random.below(16));
}

const numbers = [
  ...["0", "-0", "00", "1", "-1", "9", "10", "15", "16", "17", "100", "999", "1000", "65536"],
  ...["2147483648", "4294967296", "9007199254740993", "9223372036854775808", "1e5", "1e309"],
  ...["0.1", ".5", "5.", "1.50", "0x10", "NaN", "Infinity", "12345678901234567890"],
];

function replacedNumber(text: string, random: SeededRandom): string {
  const found = [...text.matchAll(/\d+/g)];
  if (found.length === 0) return text;
  const { 0: digits, index } = random.of(found);
  return text.slice(0, index) + random.of(numbers) + text.slice(index + digits.length);
}
