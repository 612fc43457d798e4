import type { Dice } from "./dice.ts";
import { columnOf, endOf, type Kind, model, poolOf, type TableName, type Value } from "./model.ts";

/** A filter as the check makes it up. */
export type Tree = Compare | Group | Negation | Quantified | Constant;

export interface Compare {
  readonly kind: "compare";
  /** Relations to the compared row. */
  readonly path: readonly string[];
  readonly field: string;
  /** Within a document. */
  readonly within?: readonly string[];
  readonly operator: string;
  /** Null is the word in `==null` and `!=null`. */
  readonly values: readonly (Value | null)[];
  /** From code, after the `values` of a list: no row matches it, and none a negation of it. */
  readonly missing?: unknown;
}

export interface Group {
  readonly kind: "and" | "or";
  readonly terms: readonly Tree[];
}

export interface Negation {
  readonly kind: "not";
  readonly term: Tree;
}

export interface Quantified {
  readonly kind: "some" | "none" | "every";
  readonly path: readonly string[];
  /** Null in `some()`. */
  readonly term: Tree | null;
}

/** `all()` and `none()` of code. */
export interface Constant {
  readonly kind: "all" | "nothing";
}

/** What a random filter may hold. */
export interface Shape {
  /** Relations in each other. */
  readonly steps: number;
  readonly depth: number;
  /** Values that are missing, constants and empty lists, which only code can write. */
  readonly code: boolean;
}

const orders = [">", ">=", "<", "<=", "=between=", "=nbetween="];
const always = ["==", "==", "==", "!=", "!=", "=in=", "=out=", "==null", "!=null", "=isnull="];
const patterns = ["%=", "!%=", "=ilike=", "=nilike="];
const parts = [
  ...["=ieq=", "=ine=", "=contains=", "=startswith=", "=endswith="],
  ...["=icontains=", "=istartswith=", "=iendswith="],
];
const lengths = ["=length=", "=minlength=", "=maxlength="];
const operatorsOf: Readonly<Record<Kind, readonly string[]>> = {
  text: [...always, ...always, ...orders, ...patterns, ...parts, ...lengths, "=isempty="],
  integer: [...always, ...orders, "=isempty="],
  boolean: always,
  date: [...always, ...orders],
  json: ["==null", "!=null", "=isnull=", "=has=", "=hasany=", "=hasall="],
};
const withinOperators = ["==", "==", "!=", "=in=", "=out=", "==null", "!=null", "=isnull=", "=="];
const patternTexts = ["%e%", "re_", "%", "_", "%\\%", "a\\_b", "%R%d", "É%", "", "\\\\", "%'%"];
const documentPaths = [["k"], ["a", "b"], ["0"], ["1"], ["a"]];
const documentValues: readonly Value[] = [1, 2, "1", "Red", "red", true, false, "it's"];

export function randomTree(dice: Dice, table: TableName, shape: Shape): Tree {
  const { steps, depth, code } = shape;
  const inner = { ...shape, depth: depth - 1 };
  const roll = depth <= 0 ? 0 : dice(100);
  if (roll < 26) return randomCompare(dice, table, shape);
  if (roll < 46) {
    const terms = Array.from({ length: 2 + dice(2) }, () => randomTree(dice, table, inner));
    return { kind: dice.chance(0.5) ? "and" : "or", terms };
  }
  if (roll < 60) return { kind: "not", term: randomTree(dice, table, inner) };
  if (code && roll < 64) return { kind: dice.chance(0.5) ? "all" : "nothing" };
  if (steps === 0) return randomCompare(dice, table, shape);
  const path = randomPath(dice, table, Math.min(steps, dice.chance(0.25) ? 2 : 1));
  const kind = dice.pick(["some", "some", "none", "every"] as const);
  if (dice.chance(0.1)) return { kind, path, term: null };
  const left = { ...inner, steps: steps - path.length };
  return { kind, path, term: randomTree(dice, endOf(table, path), left) };
}

function randomPath(dice: Dice, table: TableName, length: number): readonly string[] {
  const path: string[] = [];
  while (path.length < length) {
    path.push(dice.pick(Object.keys(model[endOf(table, path)].relations)));
  }
  return path;
}

function randomCompare(dice: Dice, from: TableName, { steps, code }: Shape): Compare {
  const length = steps > 0 && dice.chance(0.35) ? 1 + dice(Math.min(steps, 2)) : 0;
  const path = randomPath(dice, from, length);
  const table = endOf(from, path);
  const isDocument = table === "posts" && dice.chance(0.2);
  const field = isDocument ? "data" : dice.pick(Object.keys(model[table].columns));
  const { kind } = columnOf(table, field);
  if (code && dice.chance(0.15)) return randomMissing(dice, { path, field }, kind);
  if (kind === "json" && dice.chance(0.7)) return randomWithin(dice, path, field);
  const operator = dice.pick(operatorsOf[kind]);
  const pool = poolOf(table, field);
  const empty = code && operator === "=in=" && dice.chance(0.2);
  const values = empty ? [] : randomValues(dice, operator, kind === "json" ? [1, 2, "1"] : pool);
  return { kind: "compare", path, field, operator: plain(operator), values };
}

/** A comparison with a missing value; the list of an operator may hold others before it. */
function randomMissing(
  dice: Dice,
  { path, field }: Pick<Compare, "path" | "field">,
  kind: Kind,
): Compare {
  const operators = kind === "json" ? ["=isnull=", "=has=", "=hasany="] : operatorsOf[kind];
  const operator = plain(dice.pick(operators));
  const missing = missingOf(dice, kind, operator);
  const inDocument = kind === "json" && dice.chance(0.5);
  const isPair = /between/.test(operator);
  const isList = isPair || /^=(in|out|hasany|hasall)=$/.test(operator);
  const others = kind === "json" ? [1, "1"] : kind === "integer" ? [1, 2] : ["red", "2024-01-01"];
  const held = kind === "boolean" ? true : kind === "date" ? others[1]! : dice.pick(others);
  const values = isPair || isList && dice.chance(0.3) ? [held] : [];
  const found = { kind: "compare", path, field, operator, values, missing } as const;
  if (!inDocument) return found;
  return { ...found, operator: dice.pick(["==", "!=", ">"]), within: ["k"], values: [] };
}

function randomWithin(dice: Dice, path: readonly string[], field: string): Compare {
  const operator = dice.pick(withinOperators);
  const values = randomValues(dice, operator, documentValues);
  const within = dice.pick(documentPaths);
  return { kind: "compare", path, field, within, operator: plain(operator), values };
}

/** Without the word of a test for NULL. */
function plain(operator: string): string {
  return operator === "==null" ? "==" : operator === "!=null" ? "!=" : operator;
}

function randomValues(
  dice: Dice,
  operator: string,
  pool: readonly Value[],
): readonly (Value | null)[] {
  if (operator === "==null" || operator === "!=null") return [null];
  if (operator === "=isnull=" || operator === "=isempty=") return [dice.chance(0.5)];
  if (patterns.includes(operator)) return [dice.pick([...patternTexts, ...patternTexts, "RED"])];
  if (lengths.includes(operator)) return [dice(5)];
  const lists = ["=in=", "=out=", "=hasany=", "=hasall="];
  const count = lists.includes(operator) ? 1 + dice(3) : /between/.test(operator) ? 2 : 1;
  const chosen = Array.from({ length: count }, () => mostlyFirst(dice, pool));
  if (!parts.includes(operator)) return chosen;
  return chosen.map((value) => dice.chance(0.5) ? value : [...String(value)].slice(0, 2).join(""));
}

/** One of the first values more often, so that rows and filters meet. */
export function mostlyFirst<T>(dice: Dice, values: readonly T[]): T {
  return dice.pick(dice.chance(0.6) ? values.slice(0, 4) : values);
}

/** What a caller's code may have instead of a value. */
function missingOf(dice: Dice, kind: Kind, operator: string): unknown {
  const unfit: Readonly<Record<Kind, readonly unknown[]>> = {
    text: [],
    integer: ["abc", NaN, 1.5, Infinity, "1e400"],
    boolean: ["maybe", 7],
    date: ["tomorrow", NaN],
    json: [],
  };
  const fitsOthers = /=(isnull|isempty|length|minlength|maxlength|has\w*)=/.test(operator);
  const known = fitsOthers || kind === "json" ? [undefined, null] : [undefined, null, NaN];
  const candidates = [...known, ...fitsOthers ? [] : unfit[kind]];
  return dice.pick<{ value: unknown }>(candidates.map((value) => ({ value }))).value;
}

export function isMissing(tree: Compare): boolean {
  return Object.hasOwn(tree, "missing");
}

/** Whether a value is missing anywhere in a filter. */
export function holdsMissing(tree: Tree): boolean {
  if (tree.kind === "compare") return isMissing(tree);
  return termsOf(tree).some(holdsMissing);
}

/** Whether a filter has no text, because only code can write it. */
export function holdsCode(tree: Tree): boolean {
  if (tree.kind === "compare") return isMissing(tree) || tree.values.length === 0;
  return tree.kind === "all" || tree.kind === "nothing" || termsOf(tree).some(holdsCode);
}

const buildable = /^(==|!=|[<>]=?|=in=|=out=|%=|=isnull=|=has(any|all)?=)$/;

/** Whether builders alone write a filter, which then needs no service. */
export function isBuilt(tree: Tree): boolean {
  if (tree.kind !== "compare") return !("path" in tree) && termsOf(tree).every(isBuilt);
  const isMissingTest = tree.operator === "=isnull=" && isMissing(tree);
  return tree.path.length === 0 && tree.within === undefined && buildable.test(tree.operator) &&
    !isMissingTest;
}

export function termsOf(tree: Tree): readonly Tree[] {
  if ("terms" in tree) return tree.terms;
  return "term" in tree && tree.term !== null ? [tree.term] : [];
}

/** The kinds of all nodes, comparisons by what makes them differ. */
export function kindsOf(tree: Tree): readonly string[] {
  const own = tree.kind !== "compare"
    ? "term" in tree && tree.term === null ? `${tree.kind}()` : tree.kind
    : isMissing(tree)
    ? "missing value"
    : tree.within !== undefined
    ? "in a document"
    : tree.path.length > 0
    ? "dotted"
    : "comparison";
  return [own, ...termsOf(tree).flatMap(kindsOf)];
}

/** How many levels of parentheses and comparisons along relations the text of a filter has. */
export function sizeOf(tree: Tree): { readonly depth: number; readonly walks: number } {
  const inner = termsOf(tree).map(sizeOf);
  const isWalk = "path" in tree && tree.path.length > 0;
  return {
    depth: Math.max(0, ...inner.map(({ depth }) => depth)) + (tree.kind === "compare" ? 0 : 1),
    walks: inner.reduce((sum, { walks }) => sum + walks, isWalk ? 1 : 0),
  };
}

/** Smaller filters that a difference may persist in. */
export function* smaller(tree: Tree): Generator<Tree> {
  if (tree.kind === "and" || tree.kind === "or") {
    yield* tree.terms;
    for (const [index, term] of tree.terms.entries()) {
      const others = tree.terms.filter((_term, other) => other !== index);
      if (others.length > 1) yield { ...tree, terms: others };
      for (const less of smaller(term)) yield { ...tree, terms: tree.terms.with(index, less) };
    }
  } else if (tree.kind === "not") {
    yield tree.term;
    for (const term of smaller(tree.term)) yield { kind: "not", term };
  } else if ("term" in tree && tree.term !== null) {
    yield { ...tree, term: null };
    for (const term of smaller(tree.term)) yield { ...tree, term };
  } else if (tree.kind === "compare" && tree.values.length > 1 && !/between/.test(tree.operator)) {
    yield { ...tree, values: tree.values.slice(1) };
  }
}
