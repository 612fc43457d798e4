import { placeholder } from "../filter_text.ts";
import { filterTooLarge } from "./filter_error.ts";
import {
  isSpace,
  peekCode,
  scanField,
  scanLiteral,
  type Scanner,
  scanOperator,
  skipSpace,
  unexpectedCharacter,
} from "./scanner.ts";
import {
  type ComparisonSyntax,
  type FilterLengths,
  filterLimits,
  type FilterSyntax,
  type GroupSyntax,
  type Literal,
  quantifiers,
} from "./filter_syntax.ts";

/** Returns null for a blank string. `resolveFilter` checks fields, operators and values later. */
export function parseFilter(
  text: string,
  lengths: FilterLengths = filterLimits,
): FilterSyntax | null {
  const { length, listValues } = lengths;
  if (text.length > length) throw filterTooLarge(length, `${length} characters`);
  const state: State = { text, at: 0, openedAt: [], comparisons: 0, values: 0, listValues };
  skipSpace(state);
  if (state.at === text.length) return null;
  const syntax = parseChain(state, "or");
  if (state.at < text.length) throw unexpectedCharacter(state, `";", "," or the end`);
  return syntax;
}

interface State extends Scanner {
  readonly openedAt: number[];
  comparisons: number;
  values: number;
  readonly listValues: number;
}

/** Parses a group of terms that are all joined by `kind`. `and` binds tighter than `or`. */
function parseChain(state: State, kind: GroupSyntax["kind"]): FilterSyntax {
  const first = kind === "or" ? parseChain(state, "and") : parseTerm(state);
  let width = connectiveWidth(state, kind);
  if (width === 0) return first;
  const terms = [first];
  while (width > 0) {
    state.at += width;
    terms.push(kind === "or" ? parseChain(state, "and") : parseTerm(state));
    width = connectiveWidth(state, kind);
  }
  return { kind, terms };
}

function parseTerm(state: State): FilterSyntax {
  skipSpace(state);
  if (state.at === state.text.length) throw unexpectedCharacter(state, "a comparison");
  const code = peekCode(state);
  if (code === openParenthesis) return parseParentheses(state);
  return code === placeholderCode ? parseInserted(state) : parseFieldTerm(state);
}

function parseInserted(state: State): FilterSyntax {
  const { text, at } = state;
  const end = text.indexOf(placeholder, at + 1);
  const digits = text.slice(at + 1, Math.max(at, end));
  const isTerm = /^\d{1,4}$/.test(digits) && /^[\s;,)&|]?$/.test(text.charAt(end + 1));
  if (!isTerm) throw unexpectedCharacter(state, "a field");
  state.at = end + 1;
  return { kind: "inserted", index: Number(digits), at };
}

function parseFieldTerm(state: State): FilterSyntax {
  const at = state.at;
  const { field, path } = scanField(state);
  if (field === "not" || field === "NOT") {
    skipSpace(state);
    if (peekCode(state) === openParenthesis) return { kind: "not", term: parseParentheses(state) };
  }
  const isQuantified = peekCode(state) === openParenthesis &&
    state.text.charCodeAt(state.at - 1) !== doubleQuote;
  const word = isQuantified ? path?.at(-1) ?? field.slice(field.lastIndexOf(".") + 1) : null;
  const kind = quantifiers.find((one) => one === word);
  const relations = kind === undefined ? [] : (path ?? field.split(".")).slice(0, -1);
  if (kind === undefined || relations.length === 0) return parseComparison(state, at, field, path);
  return { kind, path: relations, pathAt: at, term: parseQuantified(state) };
}

/** Parses the filter in a quantifier's parentheses. Without a filter, every related row matches. */
function parseQuantified(state: State): FilterSyntax {
  const opened = state.at;
  state.at++;
  skipSpace(state);
  if (peekCode(state) !== closeParenthesis) {
    state.at = opened;
    return parseParentheses(state);
  }
  state.at++;
  skipSpace(state);
  return everyRow;
}

const everyRow: FilterSyntax = Object.freeze({ kind: "and", terms: Object.freeze([]) });

function parseParentheses(state: State): FilterSyntax {
  const { at, openedAt } = state;
  if (openedAt.length === filterLimits.depth) {
    throw filterTooLarge(at, `parentheses nested ${filterLimits.depth} deep`);
  }
  openedAt.push(at);
  state.at++;
  const syntax = parseChain(state, "or");
  if (peekCode(state) !== closeParenthesis) {
    throw unexpectedCharacter(state, `";", "," or ")" for the "(" at ${at}`);
  }
  state.at++;
  openedAt.pop();
  skipSpace(state);
  return syntax;
}

function parseComparison(
  state: State,
  fieldAt: number,
  field: string,
  path: readonly string[] | null,
): ComparisonSyntax {
  if (++state.comparisons > filterLimits.comparisons) {
    throw filterTooLarge(fieldAt, `${filterLimits.comparisons} comparisons`);
  }
  skipSpace(state);
  const operatorAt = state.at;
  const operator = scanOperator(state);
  skipSpace(state);
  const valuesAt = state.at;
  const opened = peekCode(state);
  const list = opened === openParenthesis || opened === openBracket;
  const values = list ? parseList(state, opened) : [parseValue(state)];
  const quoted = path === null ? {} : { path };
  return {
    ...{ kind: "compare", field, ...quoted, fieldAt, operator, operatorAt },
    ...{ list, valuesAt, values },
  };
}

function parseList(state: State, opened: number): Literal[] {
  const openedAt = state.at;
  const closing = opened === openBracket ? closeBracket : closeParenthesis;
  const values: Literal[] = [];
  do {
    state.at++;
    skipSpace(state);
    if (values.length === state.listValues) {
      throw filterTooLarge(state.at, `${state.listValues} values of a list`);
    }
    values.push(parseValue(state));
    skipSpace(state);
  } while (peekCode(state) === comma);
  if (peekCode(state) !== closing) {
    const [open, close] = opened === openBracket ? "[]" : "()";
    throw unexpectedCharacter(state, `"," or "${close}" for the "${open}" at ${openedAt}`);
  }
  state.at++;
  return values;
}

function parseValue(state: State): Literal {
  if (++state.values > filterLimits.values) {
    throw filterTooLarge(state.at, `${filterLimits.values} values`);
  }
  return scanLiteral(state);
}

function connectiveWidth(state: State, kind: GroupSyntax["kind"]): number {
  skipSpace(state);
  const { text, at } = state;
  const code = text.charCodeAt(at);
  if (kind === "and") {
    if (code === semicolon) return 1;
    if (code === ampersand) return text.charCodeAt(at + 1) === ampersand ? 2 : 0;
    return code === lowerA || code === upperA ? wordWidth(text, at, "and", "AND") : 0;
  }
  if (code === comma) return 1;
  if (code === bar) return text.charCodeAt(at + 1) === bar ? 2 : 0;
  return code === lowerO || code === upperO ? wordWidth(text, at, "or", "OR") : 0;
}

function wordWidth(text: string, at: number, lower: string, upper: string): number {
  if (!text.startsWith(lower, at) && !text.startsWith(upper, at)) return 0;
  const after = text.charCodeAt(at + lower.length);
  if (!isSpace(after) && after !== openParenthesis) return 0;
  return isSpace(text.charCodeAt(at - 1)) || `)]"'`.includes(text.charAt(at - 1))
    ? lower.length
    : 0;
}

const placeholderCode = placeholder.charCodeAt(0);
const doubleQuote = 0x22;
const openParenthesis = 0x28;
const closeParenthesis = 0x29;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const semicolon = 0x3b;
const ampersand = 0x26;
const bar = 0x7c;
const lowerA = 0x61;
const upperA = 0x41;
const lowerO = 0x6f;
const upperO = 0x4f;
