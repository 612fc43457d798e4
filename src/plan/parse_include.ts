import { excerptOf, filterError } from "../filter/syntax/filter_error.ts";
import { findQuotedNames, readQuotedName } from "../filter/syntax/quoted_name.ts";
import { Problem } from "../problem/problem.ts";

/**
 * An option that `include` was parsed to: those between the parentheses of an item, apart from
 * nested includes.
 */
export type IncludeOption = "select" | "filter" | "limit" | "orderBy";

/** One item of a parsed `include`, as written: names are not resolved yet. */
export interface IncludeSyntax {
  readonly name: string;
  /** The options as written. Their meaning depends on the target of the relation. */
  readonly options: ReadonlyMap<IncludeOption, string>;
  readonly include: readonly IncludeSyntax[];
}

/** The limits for parsing an `include`. */
export const includeLimits = {
  /** UTF-16 units of the whole text. */
  length: 4096,
  /** Levels of nested relations. */
  depth: 3,
  relations: 16,
} as const;

/**
 * Parses `include` in one pass: items separated by `,`, each a name with `(option;option…)`. `a.b`
 * is `a(include:b)`. Items of the same name are merged, and only one of them may have options.
 * Throws a 400.
 */
export function parseInclude(text: string): readonly IncludeSyntax[] {
  if (text.trim() === "") return [];
  if (text.length > includeLimits.length) {
    throw includeTooLarge(`${includeLimits.length} characters`);
  }
  const state: State = { text, at: 0, relations: 0 };
  const items: Items = new Map();
  parseItems(state, items, 1);
  if (state.at < text.length) throw unexpected(state, `"," or the end`);
  return finished(items);
}

interface State {
  readonly text: string;
  at: number;
  relations: number;
}

interface Item {
  readonly name: string;
  /** The options, or null until parentheses have followed the name. */
  options: Map<OptionName, string> | null;
  readonly include: Items;
}

type Items = Map<string, Item>;
type OptionName = IncludeOption | "include";

function parseItems(state: State, into: Items, depth: number): void {
  do parseItem(state, into, depth); while (take(state, ","));
}

/** Recurses once for each level of the item, which {@link includeLimits} bounds. */
function parseItem(state: State, into: Items, depth: number): void {
  let item = findItem(state, into, depth);
  while (take(state, ".")) item = findItem(state, item.include, ++depth);
  const at = state.at;
  if (!take(state, "(")) return;
  if (item.options !== null) {
    throw refusal(`Cannot include ${excerptOf(item.name)} at ${at}: it has options already`);
  }
  item.options = new Map();
  do parseOption(state, item.options, item.include, depth); while (take(state, ";"));
  if (!take(state, ")")) throw unexpected(state, `";" or ")" for the "(" at ${at}`);
}

function findItem(state: State, items: Items, depth: number): Item {
  const name = scanName(state);
  const known = items.get(name);
  if (known !== undefined) return known;
  if (depth > includeLimits.depth) {
    throw includeTooLarge(`${includeLimits.depth} levels of relations`);
  }
  if (++state.relations > includeLimits.relations) {
    throw includeTooLarge(`${includeLimits.relations} relations`);
  }
  const item: Item = { name, options: null, include: new Map() };
  items.set(name, item);
  return item;
}

const optionStart = /\s*(select|filter|limit|orderBy|include):/y;

function parseOption(
  state: State,
  options: Map<OptionName, string>,
  include: Items,
  depth: number,
): void {
  const name = optionAt(state.text, state.at);
  if (name === null) {
    throw unexpected(state, "one of select:, filter:, limit:, orderBy: and include:");
  }
  if (options.has(name)) {
    throw refusal(`Cannot include: ${name} stands twice, again at ${state.at}`);
  }
  state.at = state.text.indexOf(":", state.at) + 1;
  if (name === "include") {
    options.set(name, "");
    parseItems(state, include, depth + 1);
  } else {
    options.set(name, name === "filter" ? scanFilter(state) : scanPlain(state));
  }
}

/** Consumes a relation's name, which may be quoted. White space inside belongs to the name. */
function scanName(state: State): string {
  const { text, at } = state;
  if (text.charAt(at) === '"') return scanQuotedName(state);
  let end = at;
  while (end < text.length && !",.;()".includes(text.charAt(end))) end++;
  const name = text.slice(at, end).trim();
  if (name === "") throw unexpected(state, "the name of a relation");
  state.at = end;
  return name;
}

function scanQuotedName(state: State): string {
  const { text, at } = state;
  const quoted = readQuotedName(text, at);
  if (quoted === null) throw refusal(`Cannot read include at ${at}: the quote is not closed`);
  state.at = quoted.end;
  return quoted.name;
}

/** Consumes text up to the next `;` or `)` outside nested parentheses and quoted names. */
function scanPlain(state: State): string {
  const from = state.at;
  const quoted = findQuotedNames(state.text);
  for (let open = 0; state.at < state.text.length; state.at++) {
    const end = quoted.after(state.at);
    if (end > state.at) {
      state.at = end - 1;
      continue;
    }
    const character = state.text.charAt(state.at);
    if (character === "(") open++;
    else if (character === ";" && open === 0) break;
    else if (character === ")" && open-- === 0) break;
  }
  return state.text.slice(from, state.at).trim();
}

/**
 * Consumes a filter, including quotes and parentheses. A `;` outside of them ends the filter only
 * if an option follows. Otherwise it is the AND of the filter.
 */
function scanFilter(state: State): string {
  const { text, at: from } = state;
  for (let open = 0; state.at < text.length; state.at++) {
    const character = text.charAt(state.at);
    if (character === '"' || character === "'") state.at = closingQuote(state, character, from);
    else if (character === "(") open++;
    else if (character === ")" && open-- === 0) break;
    else if (character === ";" && open === 0 && optionAt(text, state.at + 1) !== null) break;
  }
  return text.slice(from, state.at);
}

function closingQuote({ text, at }: State, quote: string, from: number): number {
  for (let end = at + 1; end < text.length; end++) {
    const character = text.charAt(end);
    if (character === "\\") end++;
    else if (character === quote) return end;
  }
  const position = at - from;
  throw filterError(
    position,
    "a closing quote",
    `Cannot read the filter at ${position}: the quote is not closed`,
  );
}

function optionAt(text: string, at: number): OptionName | null {
  optionStart.lastIndex = at;
  // The pattern has no other names.
  return (optionStart.exec(text)?.[1] ?? null) as OptionName | null;
}

/** Consumes the character, and the white space around it, if it is next. */
function take(state: State, character: string): boolean {
  let at = state.at;
  while (isSpace(state.text, at)) at++;
  if (state.text.charAt(at) !== character) return false;
  do at++; while (isSpace(state.text, at));
  state.at = at;
  return true;
}

function isSpace(text: string, at: number): boolean {
  return " \t\r\n".includes(text.charAt(at) || "-");
}

function finished(items: Items): readonly IncludeSyntax[] {
  return [...items.values()].map(({ name, options, include }) => {
    const written = new Map(options ?? []);
    written.delete("include");
    // `include` was the only other name of an option.
    return { name, options: written as Map<IncludeOption, string>, include: finished(include) };
  });
}

function unexpected({ text, at }: State, expected: string): Problem {
  const found = at >= text.length ? "the end" : excerptOf(text.slice(at, at + 21));
  return refusal(`Cannot read include at ${at}: expected ${expected}, got ${found}`);
}

function includeTooLarge(limit: string): Problem {
  return refusal(`Cannot include so much: it may have at most ${limit}`);
}

function refusal(detail: string): Problem {
  return new Problem("invalid-parameter", detail);
}
