import { excerptOf, unreadableFilter } from "../filter/syntax/filter_error.ts";
import { findQuotedNames, readQuotedName } from "../filter/syntax/quoted_name.ts";
import { invalidParameter, type Problem } from "../problem/problem.ts";

/** An option in the parentheses of an `include` item, other than a nested `include`. */
export type IncludeOption = "select" | "filter" | "limit" | "orderBy" | MetricOption;

type MetricOption = "count" | "sum" | "avg" | "min" | "max";

export interface IncludeSyntax {
  readonly name: string;
  /** True if the item requests metrics of the related rows instead of the rows. */
  readonly isAggregate?: true;
  readonly options: ReadonlyMap<IncludeOption, string>;
  readonly include: readonly IncludeSyntax[];
}

export const includeLimits = {
  /** The maximum length of the parameter `include`, in UTF-16 units. */
  length: 4096,
  depth: 3,
  relations: 16,
} as const;

/**
 * Parses `include`. Items are separated by `,`, and each is a name with optional
 * `(option;option…)`. `a.b` means `a(include:b)`. Items with equal names are merged: only one item
 * of a name can have options, and one more can request metrics. Throws a 400.
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
  options: Map<OptionName, string> | null;
  metrics: Map<OptionName, string> | null;
  hasRows: boolean;
  readonly include: Items;
}

type Items = Map<string, Item>;
type OptionName = IncludeOption | "include";

function parseItems(state: State, into: Items, depth: number): void {
  do parseItem(state, into, depth); while (take(state, ","));
}

/** {@link includeLimits} limits the depth of the recursion. */
function parseItem(state: State, into: Items, depth: number): void {
  let item = findItem(state, into, depth);
  while (take(state, ".")) item = findItem(state, item.include, ++depth);
  const at = state.at;
  const options = new Map<OptionName, string>();
  if (take(state, "(")) {
    do parseOption(state, options, item.include, depth); while (take(state, ";"));
    if (!take(state, ")")) throw unexpected(state, `";" or ")" for the "(" at ${at}`);
  }
  const metric = [...options.keys()].find(isMetric);
  if (metric === undefined) item.hasRows = true;
  if (options.size === 0) return;
  const slot = metric === undefined ? "options" : "metrics";
  if (item[slot] !== null) {
    throw invalidParameter(
      `Cannot include ${excerptOf(item.name)} at ${at}: it has options already`,
    );
  }
  item[slot] = options;
  const other = [...options.keys()].find((name) => name !== "filter" && !isMetric(name));
  if (metric !== undefined && other !== undefined) {
    const name = excerptOf(item.name);
    throw invalidParameter(
      `Cannot include ${name} at ${at}: ${metric} and ${other} are in the same parentheses. ` +
        `Request the rows by a further item ${name.slice(1, -1)}(${other}:…)`,
    );
  }
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
  const item: Item = { name, options: null, metrics: null, hasRows: false, include: new Map() };
  items.set(name, item);
  return item;
}

const optionStart = /\s*(select|filter|limit|orderBy|include|count|sum|avg|min|max)\s*:/y;

function isMetric(name: OptionName): boolean {
  return ["count", "sum", "avg", "min", "max"].includes(name);
}

function parseOption(
  state: State,
  options: Map<OptionName, string>,
  include: Items,
  depth: number,
): void {
  const name = optionAt(state.text, state.at);
  if (name === null) {
    throw unexpected(
      state,
      "one of select:, filter:, limit:, orderBy:, include:, count:true, sum:, avg:, min: and max:",
    );
  }
  if (options.has(name)) {
    throw invalidParameter(`Cannot include: ${name} occurs twice, again at ${state.at}`);
  }
  state.at = state.text.indexOf(":", state.at) + 1;
  if (name === "include") {
    options.set(name, "");
    parseItems(state, include, depth + 1);
  } else {
    options.set(name, name === "filter" ? scanFilter(state) : scanPlain(state));
  }
}

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
  if (quoted === null) {
    throw invalidParameter(`Cannot read include at ${at}: the quote is not closed`);
  }
  state.at = quoted.end;
  return quoted.name;
}

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

/** Reads a filter up to a `;` before an option name, outside of quotes and parentheses. */
function scanFilter(state: State): string {
  const { text, at: from } = state;
  for (let open = 0; state.at < text.length; state.at++) {
    const character = text.charAt(state.at);
    if (character === '"' || character === "'") state.at = closingQuote(state, from);
    else if (character === "(") open++;
    else if (character === ")" && open-- === 0) break;
    else if (character === ";" && open === 0 && optionAt(text, state.at + 1) !== null) break;
  }
  return text.slice(from, state.at);
}

function closingQuote({ text, at }: State, from: number): number {
  const quoted = readQuotedName(text, at);
  if (quoted !== null) return quoted.end - 1;
  const position = at - from;
  throw unreadableFilter(position, "a closing quote", "the quote is not closed");
}

function optionAt(text: string, at: number): OptionName | null {
  optionStart.lastIndex = at;
  // The cast is safe, because the pattern matches only names of options.
  return (optionStart.exec(text)?.[1] ?? null) as OptionName | null;
}

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
  return [...items.values()].flatMap(({ name, options, metrics, hasRows, include }) => {
    const written = new Map(options ?? []);
    written.delete("include");
    // The cast is safe, because the only other option, `include`, was removed above.
    const row = {
      name,
      options: written as Map<IncludeOption, string>,
      include: finished(include),
    };
    const aggregate: IncludeSyntax[] = metrics === null ? [] : [
      // The cast is safe, because no item that requests metrics has the option `include`.
      { ...row, isAggregate: true, options: metrics as Map<IncludeOption, string>, include: [] },
    ];
    return hasRows || include.size > 0 ? [row, ...aggregate] : aggregate;
  });
}

function unexpected({ text, at }: State, expected: string): Problem {
  const found = at >= text.length ? "the end" : excerptOf(text.slice(at, at + 21));
  return invalidParameter(`Cannot read include at ${at}: expected ${expected}, got ${found}`);
}

function includeTooLarge(limit: string): Problem {
  return invalidParameter(`Cannot include so much: it may have at most ${limit}`);
}
