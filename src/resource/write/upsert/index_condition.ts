import { quoteName } from "../../../filter/syntax/quoted_name.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";

export interface IndexCondition {
  /** The filter as text: `deletedAt==null;status==open`. */
  readonly filter: string;
  readonly columns: readonly ColumnInfo[];
}

/** Converts a partial index's AND of constant comparisons to a filter, or returns null. */
export function parseIndexCondition(
  sql: string,
  columns: readonly ColumnInfo[],
): IndexCondition | null {
  const tokens = [...sql.matchAll(tokenPattern)].map(([token]) => token);
  if (tokens.join("") !== sql.replace(spaces, (text) => /^['"]/.test(text) ? text : "")) {
    return null;
  }
  const used = new Set<ColumnInfo>();
  const parser = new ConditionParser(tokens, columns, used);
  const terms = parser.conjunction();
  return terms === null || !parser.isAtEnd ? null : { filter: terms.join(";"), columns: [...used] };
}

const quotedText = String.raw`'(?:[^']|'')*'`;
const quotedNamePattern = String.raw`"(?:[^"]|"")*"`;
const tokenPattern = new RegExp(
  `${quotedText}|${quotedNamePattern}|::|<>|!=|<=|>=|[=<>(),[\\]]|-?\\d+(?:\\.\\d+)?|[A-Za-z_]\\w*`,
  "g",
);
/** White space, and quoted strings, in which white space counts. */
const spaces = new RegExp(`${quotedText}|${quotedNamePattern}|\\s+`, "g");

/** The operators of the filter language for those of SQL. */
const operators: Readonly<Record<string, string>> = {
  ...{ "=": "==", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=" },
};

class ConditionParser {
  readonly #tokens: readonly string[];
  readonly #columns: readonly ColumnInfo[];
  readonly #used: Set<ColumnInfo>;
  #at = 0;

  constructor(tokens: readonly string[], columns: readonly ColumnInfo[], used: Set<ColumnInfo>) {
    this.#tokens = tokens;
    this.#columns = columns;
    this.#used = used;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  /** Parses terms that AND joins. Returns null for anything else. */
  conjunction(): readonly string[] | null {
    const terms: string[] = [];
    do {
      const term = this.#term();
      if (term === null) return null;
      terms.push(...term);
    } while (this.#take("AND"));
    return terms;
  }

  #term(): readonly string[] | null {
    const start = this.#at;
    if (this.#take("(")) {
      const inner = this.conjunction();
      const isGroup = inner !== null && this.#take(")");
      if (isGroup && /^(?:AND|\))$/i.test(this.#tokens[this.#at] ?? ")")) return inner;
      this.#at = start;
    }
    const negated = this.#take("NOT");
    const column = this.#column();
    if (column === null) return null;
    this.#used.add(column);
    const name = quoteName(column.name);
    if (negated) return column.kind === "boolean" ? [`${name}==false`] : null;
    if (this.#take("IS")) {
      const operator = this.#take("NOT") ? "!=" : "==";
      return this.#take("NULL") ? [`${name}${operator}null`] : null;
    }
    const operator = operators[this.#tokens[this.#at] ?? ""];
    if (operator === undefined) return column.kind === "boolean" ? [`${name}==true`] : null;
    this.#at++;
    const value = this.#constant(column.kind);
    return value === null ? null : [`${name}${operator}${value}`];
  }

  #column(): ColumnInfo | null {
    if (this.#take("(")) {
      const inner = this.#column();
      return inner !== null && this.#take(")") && this.#skipTypes() ? inner : null;
    }
    const token = this.#tokens[this.#at] ?? "";
    const name = token.startsWith('"') ? token.slice(1, -1).replaceAll('""', '"') : token;
    const column = this.#columns.find(({ dbName }) => dbName === name);
    if (column === undefined) return null;
    this.#at++;
    return this.#skipTypes() ? column : null;
  }

  #constant(kind: string): string | null {
    if (this.#take("(")) {
      const inner = this.#constant(kind);
      return inner !== null && this.#take(")") && this.#skipTypes() ? inner : null;
    }
    const token = this.#tokens[this.#at] ?? "";
    this.#at++;
    const isText = token.startsWith("'");
    if (!isText && !/^-?\d|^(?:true|false)$/i.test(token)) return null;
    if (!this.#skipTypes()) return null;
    const text = isText ? token.slice(1, -1).replaceAll("''", "'") : token.toLowerCase();
    // SQLite stores booleans as numbers.
    if (kind === "boolean" && /^[01]$/.test(text)) return String(text === "1");
    return /^[A-Za-z0-9_]+$/.test(text) && !/^null$/i.test(text) ? text : JSON.stringify(text);
  }

  /** Skips a cast and a collation after an operand. They change no equality with a constant. */
  #skipTypes(): boolean {
    while (this.#take("::")) {
      const from = this.#at;
      while (/^["\w]/.test(this.#tokens[this.#at] ?? "") && !this.#isKeyword()) this.#at++;
      if (this.#at === from) return false;
      if (this.#take("(")) {
        while (!this.isAtEnd && !this.#take(")")) this.#at++;
      }
    }
    if (this.#take("COLLATE")) this.#at++;
    return true;
  }

  #isKeyword(): boolean {
    return /^(?:AND|OR|NOT|IS|IN|COLLATE)$/i.test(this.#tokens[this.#at] ?? "");
  }

  #take(token: string): boolean {
    if (this.#tokens[this.#at]?.toUpperCase() !== token) return false;
    this.#at++;
    return true;
  }
}
