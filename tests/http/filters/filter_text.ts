import type { Dice } from "./dice.ts";
import type { Compare, Tree } from "./tree.ts";

/** A part of a template that code fills. */
export interface Filled {
  readonly filled: unknown;
}

/** What a template puts in the place of a term or of values; null leaves it to the text. */
export interface Filling {
  /** `path` leads to the row that the term is about. */
  term(tree: Tree, path: readonly string[]): Filled | null;
  values(tree: Compare): readonly Filled[] | null;
}

type Path = readonly string[];

/** What stands around a term. */
type Place = "or" | "and" | "alone" | "root";

const nothingFilled: Filling = { term: () => null, values: () => null };

/** The filter as a client may write it: with white space, quotes and operators by chance. */
export function textOf(tree: Tree, dice: Dice): string {
  return partsOf(tree, dice, nothingFilled).map(String).join("");
}

/** The filter as a template. */
export function partsOf(tree: Tree, dice: Dice, filling: Filling): readonly (string | Filled)[] {
  const space = () => dice.chance(0.08) ? " " : "";

  function parts(tree: Tree, inside: Place, at: Path): readonly (string | Filled)[] {
    const filled = inside === "root" ? null : filling.term(tree, at);
    if (filled !== null) return [filled];
    switch (tree.kind) {
      case "and":
      case "or": {
        const signs = tree.kind === "and"
          ? [";", ";", ";", "&&", " and ", " AND "]
          : [",", ",", ",", "||", " or ", " OR "];
        const terms = tree.terms.flatMap((term, index) => [
          ...(index === 0 ? [] : [space() + dice.pick(signs) + space()]),
          ...parts(term, tree.kind, at),
        ]);
        const needed = inside === "and" || inside === "or" && tree.kind === "or";
        return needed || dice.chance(0.03) ? ["(", ...terms, ")"] : terms;
      }
      case "not":
        return [dice.chance(0.8) ? "not(" : "NOT(", space(), ...parts(tree.term, "alone", at), ")"];
      case "compare":
        return compared(tree);
      case "some":
      case "none":
      case "every": {
        const term = tree.term === null ? [] : parts(tree.term, "alone", [...at, ...tree.path]);
        return [`${pathOf(tree.path)}.${tree.kind}(`, space(), ...term, space(), ")"];
      }
      default:
        throw new Error(`"${tree.kind}" has no text`);
    }
  }

  function compared(tree: Compare): readonly (string | Filled)[] {
    const { operator, values, path, field, within = [] } = tree;
    const name = pathOf([...path, field, ...within]);
    const head = `${name}${space()}${dice.pick(aliases[operator] ?? [operator])}${space()}`;
    const filled = filling.values(tree);
    if (filled !== null) return filled.length === 1 ? [head, ...filled] : [head, ...listed(filled)];
    const isList = /^=(in|out|hasany|hasall|between|nbetween)=$/.test(operator);
    const texts = values.map((value) => scalar(value, tree));
    if (!isList || texts.length === 1 && dice.chance(0.5)) return [head, ...texts];
    return [head, ...listed(texts)];
  }

  const listed = <T>(items: readonly T[]): readonly (T | string)[] => {
    const [open, close] = dice.chance(0.8) ? ["(", ")"] : ["[", "]"];
    return [open, ...items.flatMap((item, index) => index === 0 ? [item] : [",", item]), close];
  };

  /** A name in quotes where it needs them, and sometimes where it does not. */
  function pathOf(names: readonly string[]): string {
    return names.map((name) => {
      const isPlain = /^([a-zA-Z]\w*|\d+)$/.test(name);
      return isPlain && dice.chance(0.93) ? name : `"${name.replaceAll(/["\\]/g, "\\$&")}"`;
    }).join(".");
  }

  function scalar(value: unknown, { within, operator }: Compare): string {
    if (value === null) return "null";
    const text = String(value);
    const inDocument = within !== undefined || operator.startsWith("=has");
    const isFlag = /^=(isnull|isempty|length|minlength|maxlength)=$/.test(operator);
    const typed = isFlag || inDocument && typeof value !== "string";
    const wouldBeTyped = inDocument && /^(-?\d.*|true|false)$/.test(text);
    const isPlain = /^[\w%.éÉ👍Α-ω-]+$/u.test(text) && text !== "null" && !wouldBeTyped;
    if (typed || isPlain && dice.chance(0.7)) return text;
    const quote = dice.chance(0.5) ? "'" : '"';
    return quote + text.replaceAll(/['"\\]/g, (sign) => {
      return sign === quote || sign === "\\" || dice.chance(0.1) ? `\\${sign}` : sign;
    }) + quote;
  }

  return parts(tree, "root", []);
}

const aliases: Readonly<Record<string, readonly string[]>> = {
  ">": [">", "=gt="],
  ">=": [">=", "=ge="],
  "<": ["<", "=lt="],
  "<=": ["<=", "=le="],
  "%=": ["%=", "=like="],
  "!%=": ["!%=", "=nlike="],
};
