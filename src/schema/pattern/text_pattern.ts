import { parseRegex, type RegexPart } from "./parse_regex.ts";

/** A regular expression that must match a part of each string. Matching takes linear time. */
export class TextPattern {
  /** The source of the regular expression, which has the flag `u`. */
  readonly source: string;
  readonly #steps: readonly Step[];

  /** Throws an Error for an expression that cannot be matched in one pass. */
  constructor(source: string) {
    // Throws a SyntaxError for an invalid expression.
    new RegExp(source, "u");
    const steps: Step[] = [];
    compile(parseRegex(source), steps);
    steps.push({ kind: "found" });
    this.source = source;
    this.#steps = steps;
  }

  /** Returns true if a part of the string matches the expression. */
  matches(text: string): boolean {
    const steps = this.#steps;
    const characters = [...text];
    let current = new States(steps.length);
    let next = new States(steps.length);
    for (let at = 0; at <= characters.length; at++) {
      const place = { characters, at };
      // A match can begin at each character.
      if (reach(0, current, steps, place)) return true;
      const character = characters[at];
      if (character === undefined) return false;
      const following = { characters, at: at + 1 };
      for (const state of current.characters) {
        const step = steps[state];
        if (step?.kind === "character" && step.test(character)) {
          if (reach(state + 1, next, steps, following)) return true;
        }
      }
      [current, next] = [next, current];
      next.clear();
    }
    return false;
  }
}

/** The maximum number of steps of a compiled pattern. Each step may test every character. */
const maxSteps = 1_000;

type Step =
  | { readonly kind: "character"; readonly test: (character: string) => boolean }
  | { readonly kind: "place"; readonly holds: (place: Place) => boolean }
  | { readonly kind: "fork"; readonly to: readonly [number, number] }
  | { readonly kind: "jump"; readonly to: number }
  | { readonly kind: "found" };

interface Place {
  readonly characters: readonly string[];
  readonly at: number;
}

class States {
  characters: number[] = [];
  #entered: Uint8Array;

  constructor(count: number) {
    this.#entered = new Uint8Array(count);
  }

  enter(state: number): boolean {
    if (this.#entered[state] === 1) return false;
    this.#entered[state] = 1;
    return true;
  }

  clear(): void {
    this.characters = [];
    this.#entered.fill(0);
  }
}

function reach(from: number, states: States, steps: readonly Step[], place: Place): boolean {
  const open = [from];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    const step = steps[state];
    if (step === undefined || !states.enter(state)) continue;
    switch (step.kind) {
      case "found":
        return true;
      case "character":
        states.characters.push(state);
        break;
      case "place":
        if (step.holds(place)) open.push(state + 1);
        break;
      case "fork":
        open.push(...step.to);
        break;
      case "jump":
        open.push(step.to);
    }
  }
  return false;
}

function compile(part: RegexPart, steps: Step[]): void {
  if (steps.length > maxSteps) throw new Error("is too long, with its repetitions written out");
  switch (part.kind) {
    case "character":
      steps.push({ kind: "character", test: characterTest(part.source) });
      break;
    case "sequence":
      for (const each of part.parts) compile(each, steps);
      break;
    case "choice":
      compileChoice(part.parts, steps);
      break;
    case "repeat":
      compileRepeat(part, steps);
      break;
    default:
      steps.push({ kind: "place", holds: places[part.kind] });
  }
}

function compileChoice(parts: readonly RegexPart[], steps: Step[]): void {
  const jumps: number[] = [];
  parts.forEach((part, index) => {
    if (index === parts.length - 1) return compile(part, steps);
    const fork = steps.push({ kind: "jump", to: 0 }) - 1;
    compile(part, steps);
    jumps.push(steps.push({ kind: "jump", to: 0 }) - 1);
    steps[fork] = { kind: "fork", to: [fork + 1, steps.length] };
  });
  for (const jump of jumps) steps[jump] = { kind: "jump", to: steps.length };
}

function compileRepeat(
  { part, min, max }: Extract<RegexPart, { readonly kind: "repeat" }>,
  steps: Step[],
): void {
  if (min > maxSteps) throw new Error("is too long, with its repetitions written out");
  const isOpen = max === Infinity;
  const before = steps.length;
  for (let time = 0; time < (isOpen ? min - 1 : min); time++) {
    compile(part, steps);
    // A part without steps, such as `(?:)`, has no steps however often it is repeated.
    if (steps.length === before) return;
  }
  if (isOpen) return compileLoop(part, min === 0, steps);
  const forks: number[] = [];
  for (let time = min; time < max; time++) {
    forks.push(steps.push({ kind: "jump", to: 0 }) - 1);
    compile(part, steps);
  }
  for (const fork of forks) steps[fork] = { kind: "fork", to: [fork + 1, steps.length] };
}

function compileLoop(part: RegexPart, mayBeMissing: boolean, steps: Step[]): void {
  const fork = mayBeMissing ? steps.push({ kind: "jump", to: 0 }) - 1 : null;
  const start = steps.length;
  compile(part, steps);
  steps.push({ kind: "fork", to: [start, steps.length + 1] });
  if (fork !== null) steps[fork] = { kind: "fork", to: [start, steps.length] };
}

function characterTest(source: string): (character: string) => boolean {
  if (!/^[[\\.]/.test(source)) return (character) => character === source;
  const expression = new RegExp(`^${source}$`, "u");
  return (character) => expression.test(character);
}

const places: Readonly<Record<"start" | "end" | "word edge" | "no word edge", Placed>> = {
  start: ({ at }) => at === 0,
  end: ({ at, characters }) => at === characters.length,
  "word edge": isWordEdge,
  "no word edge": (place) => !isWordEdge(place),
};

type Placed = (place: Place) => boolean;

function isWordEdge({ characters, at }: Place): boolean {
  return isOfWord(characters[at - 1]) !== isOfWord(characters[at]);
}

function isOfWord(character: string | undefined): boolean {
  return character !== undefined && /^\w$/.test(character);
}
