import {
  blankToken,
  closingParenthesis,
  ddlTokens,
  nameOfToken,
  splitAtCommas,
} from "./normal_sql.ts";

export interface ParsedDefinition {
  readonly text: string;
  readonly column: { readonly name: string; readonly type: string } | null;
  readonly constraints: readonly ParsedConstraint[];
}

export type ParsedConstraint =
  & {
    readonly name: string | null;
    readonly text: string;
  }
  & (
    | { readonly kind: "key"; readonly columns: readonly string[]; readonly counts: boolean }
    | { readonly kind: "unique"; readonly columns: readonly string[] }
    | { readonly kind: "not null" | "identity" }
    | { readonly kind: "check" | "default" | "generated"; readonly sql: string }
    | { readonly kind: "collate"; readonly collation: string }
    | {
      readonly kind: "references";
      readonly columns: readonly string[];
      readonly target: ParsedForeignKeyTarget;
    }
  );

export interface ParsedForeignKeyTarget {
  readonly table: readonly string[];
  /** The referenced columns. Null if the clause omits them and so refers to the primary key. */
  readonly columns: readonly string[] | null;
  readonly onDelete: string | null;
  readonly onUpdate: string | null;
}

export function parseCreateTable(statement: string) {
  const all = ddlTokens(statement);
  const open = all.indexOf("(");
  if (open < 0) throw new Error("Cannot parse a CREATE TABLE statement without parentheses");
  const close = closingParenthesis(all, open);
  const definitions = splitAtCommas(all.slice(open + 1, close)).map(parseDefinition);
  return { definitions, options: all.slice(close + 1).join("").trim() };
}

function parseDefinition(all: readonly string[]): ParsedDefinition {
  const reader = new TokenReader(all);
  const text = reader.textOf(0, reader.length);
  if (reader.isWord(...tableConstraints)) {
    return { text, column: null, constraints: parseConstraints(reader, null) };
  }
  const name = reader.name();
  const start = reader.at;
  while (!reader.isAtEnd && !reader.isWord(...columnConstraints)) reader.skip();
  const type = reader.textOf(start, reader.at).replace(/\s+/g, " ");
  return { text, column: { name, type }, constraints: parseConstraints(reader, name) };
}

const tableConstraints = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];
const columnConstraints = [
  ...["CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE"],
  ...["REFERENCES", "GENERATED", "AS"],
];

function parseConstraints(reader: TokenReader, column: string | null): ParsedConstraint[] {
  const found: ParsedConstraint[] = [];
  while (!reader.isAtEnd) {
    const from = reader.at;
    const name = reader.takes("CONSTRAINT") ? reader.name() : null;
    const parsed = parseConstraint(reader, column);
    const text = reader.textOf(from, reader.at);
    const last = found.pop();
    if (parsed !== null) {
      found.push(...(last === undefined ? [] : [last]), { ...parsed, name, text });
    } else if (last !== undefined) found.push({ ...last, text: `${last.text} ${text}` });
  }
  return found;
}

type Unnamed<C> = C extends unknown ? Omit<C, "name" | "text"> : never;

function parseConstraint(
  reader: TokenReader,
  column: string | null,
): Unnamed<ParsedConstraint> | null {
  const columns = () => column === null ? reader.names() : [column];
  if (reader.takes("PRIMARY", "KEY")) {
    const key = columns();
    return { kind: "key", columns: key, counts: reader.takesBefore("AUTOINCREMENT") };
  }
  if (reader.takes("UNIQUE")) return { kind: "unique", columns: columns() };
  if (reader.takes("NOT", "NULL")) return { kind: "not null" };
  if (reader.takes("CHECK")) return { kind: "check", sql: reader.parenthesized() };
  if (reader.takes("DEFAULT")) return { kind: "default", sql: reader.defaultClause() };
  if (reader.takes("COLLATE")) return { kind: "collate", collation: reader.name() };
  if (reader.takes("FOREIGN", "KEY")) {
    const own = reader.names();
    reader.takes("REFERENCES");
    return { kind: "references", columns: own, target: parseTarget(reader) };
  }
  if (reader.takes("REFERENCES")) {
    return { kind: "references", columns: columns(), target: parseTarget(reader) };
  }
  if (reader.takes("GENERATED", "BY", "DEFAULT", "AS", "IDENTITY")) return { kind: "identity" };
  if (reader.takes("GENERATED", "ALWAYS", "AS", "IDENTITY")) return { kind: "identity" };
  reader.takes("GENERATED", "ALWAYS");
  if (reader.takes("AS")) return { kind: "generated", sql: reader.parenthesized() };
  // Skips ON CONFLICT, STORED, DEFERRABLE and similar words.
  reader.skip();
  return null;
}

function parseTarget(reader: TokenReader): ParsedForeignKeyTarget {
  const table = [reader.name()];
  while (reader.takes(".")) table.push(reader.name());
  const columns = reader.isWord("(") ? reader.names() : null;
  const actions = new Map<string, string>();
  while (reader.isWord("ON", "MATCH")) {
    if (reader.takes("MATCH")) reader.skip();
    else {
      reader.skip();
      const event = reader.word();
      const first = reader.word();
      const isLong = first === "set" || first === "no";
      actions.set(event, isLong ? `${first} ${reader.word()}` : first);
    }
  }
  const action = (event: string) => {
    const found = actions.get(event) ?? "no action";
    return found === "no action" ? null : found;
  };
  return { table, columns, onDelete: action("delete"), onUpdate: action("update") };
}

const number = /^[+-]?\s*(?:\d+\.?\d*|\.\d*)(?:e[+-]?\d*)?$/i;

class TokenReader {
  readonly #all: readonly string[];
  readonly #places: readonly number[];
  readonly #tokens: readonly string[];
  at = 0;

  constructor(all: readonly string[]) {
    this.#all = all;
    this.#places = [...all.keys()].filter((index) => !blankToken.test(all[index] ?? ""));
    this.#tokens = this.#places.map((place) => all[place] ?? "");
  }

  get length(): number {
    return this.#places.length;
  }

  get isAtEnd(): boolean {
    return this.at >= this.length;
  }

  isWord(...words: readonly string[]): boolean {
    return words.includes(this.#token(this.at).toUpperCase());
  }

  takes(...words: readonly string[]): boolean {
    const isNext = words.every((word, index) =>
      this.#token(this.at + index).toUpperCase() === word
    );
    if (isNext) this.at += words.length;
    return isNext;
  }

  takesBefore(word: string): boolean {
    const skipped = /^(?:ASC|DESC|ON|CONFLICT|ROLLBACK|ABORT|FAIL|IGNORE|REPLACE)$/i;
    let ahead = this.at;
    while (skipped.test(this.#token(ahead))) ahead++;
    if (this.#token(ahead).toUpperCase() !== word) return false;
    this.at = ahead + 1;
    return true;
  }

  name(): string {
    return nameOfToken(this.#token(this.at++), /^["`['"]/);
  }

  word(): string {
    return this.#token(this.at++).toLowerCase();
  }

  names(): string[] {
    if (!this.takes("(")) return [];
    const list = [this.name()];
    while (!this.isAtEnd && !this.takes(")")) {
      if (this.takes(",")) list.push(this.name());
      else this.skip();
    }
    return list;
  }

  skip(): void {
    if (this.#token(this.at) !== "(") this.at++;
    else this.at = closingParenthesis(this.#tokens, this.at) + 1;
  }

  parenthesized(): string {
    const from = this.at + 1;
    this.skip();
    return this.textOf(from, this.at - 1);
  }

  defaultClause(): string {
    const from = this.at;
    const isBlob = this.isWord("X") && this.#token(this.at + 1).startsWith("'");
    if (isBlob || this.isWord("+", "-")) this.at++;
    this.skip();
    // Includes the rest of a number: `1.5`, `5.` and `1e-7` each consist of several tokens.
    while (!this.isAtEnd && number.test(this.textOf(from, this.at + 1))) this.at++;
    return this.textOf(from, this.at);
  }

  textOf(from: number, to: number): string {
    if (to <= from) return "";
    return this.#all.slice(this.#places[from], (this.#places[to - 1] ?? 0) + 1).join("");
  }

  #token(index: number): string {
    return this.#tokens[index] ?? "";
  }
}
