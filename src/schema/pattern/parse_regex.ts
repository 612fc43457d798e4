/** A part of a parsed regular expression. All parts can be matched in one pass over a string. */
export type RegexPart =
  | { readonly kind: "character"; readonly source: string }
  | { readonly kind: "start" | "end" | "word edge" | "no word edge" }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly RegexPart[] }
  | {
    readonly kind: "repeat";
    readonly part: RegexPart;
    readonly min: number;
    /** Maximum number of repetitions; Infinity without a maximum. */
    readonly max: number;
  };

/** Parses a valid expression with the flag `u`. Throws for lookaround and backreferences. */
export function parseRegex(source: string): RegexPart {
  return new Parser(source).choice();
}

class Parser {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  choice(): RegexPart {
    const parts = [this.#sequence()];
    while (this.#takes("|")) parts.push(this.#sequence());
    return { kind: "choice", parts };
  }

  #sequence(): RegexPart {
    const parts: RegexPart[] = [];
    while (this.#at < this.#source.length && !"|)".includes(this.#next())) {
      parts.push(this.#repeated(this.#part()));
    }
    return { kind: "sequence", parts };
  }

  #repeated(part: RegexPart): RegexPart {
    const [quantifier] = this.#take(/[*+?]|\{\d+(?:,\d*)?\}/y) ?? [];
    if (quantifier === undefined) return part;
    // Skips the `?` of a lazy quantifier, which accepts the same strings as a greedy one.
    this.#takes("?");
    return { kind: "repeat", part, ...timesOf(quantifier) };
  }

  #part(): RegexPart {
    if (this.#takes("^")) return { kind: "start" };
    if (this.#takes("$")) return { kind: "end" };
    if (this.#takes("\\b")) return { kind: "word edge" };
    if (this.#takes("\\B")) return { kind: "no word edge" };
    if (this.#takes("(")) return this.#group();
    const [source = ""] = this.#take(character) ?? [];
    if (/^\\[1-9k]/.test(source)) throw new Error("refers to a group");
    return { kind: "character", source };
  }

  #group(): RegexPart {
    if (this.#take(/\?(?::|<(?![=!])[^>]*>)/y) === null && this.#next() === "?") {
      throw new Error("looks around, or has flags within");
    }
    const part = this.choice();
    this.#takes(")");
    return part;
  }

  #next(): string {
    return this.#source.charAt(this.#at);
  }

  #takes(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source);
    if (found !== null) this.#at += found[0].length;
    return found;
  }
}

/** Matches a class, an escape or a character. Two escaped surrogates are one character. */
const character =
  /\[(?:\\[^]|[^\\\]])*\]|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u\{[\da-fA-F]+\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\c[a-zA-Z]|\\[pP]\{[^}]*\}|\\[^]|[^]/uy;

function timesOf(quantifier: string): { readonly min: number; readonly max: number } {
  switch (quantifier) {
    case "*":
      return { min: 0, max: Infinity };
    case "+":
      return { min: 1, max: Infinity };
    case "?":
      return { min: 0, max: 1 };
    default: {
      const [, from = "", comma, to = ""] = /^\{(\d+)(,)?(\d*)\}$/.exec(quantifier) ?? [];
      const min = Number(from);
      return { min, max: comma === undefined ? min : to === "" ? Infinity : Number(to) };
    }
  }
}
