import type { SqlEngine } from "./normal_sql.ts";

/**
 * Splits a script of SQL into its statements, without the semicolons between them. What is quoted, a
 * comment, the body of a trigger and that of a function is not split. Throws an Error where something
 * is not closed.
 */
export function splitStatements(script: string, engine: SqlEngine): readonly string[] {
  const statements: string[] = [];
  let from = 0;
  let words: string[] = [];
  let depth = 0;
  const end = (to: number) => {
    if (depth > 0) throw new Error(`the statement ${firstWords(words)} has no END`);
    if (words.length > 0) statements.push(script.slice(from, to).trim());
    [from, words, depth] = [to + 1, [], 0];
  };
  for (let at = 0; at < script.length;) {
    const token = tokenAt(script, at, engine);
    if (token === ";" && depth === 0) end(at);
    else if (!blank.test(token)) {
      const word = token.toUpperCase();
      if (hasBody(words)) {
        if (word === "CASE" || opensBody(word, words)) depth++;
        if (word === "END") depth--;
      }
      words.push(word);
    }
    at += token.length;
  }
  end(script.length);
  return statements;
}

/** Returns true if a statement begins or ends a transaction, which is for the caller that runs the script. */
export function isTransactionBoundary(statement: string): boolean {
  const start = statement.replace(/^(?:\s|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)+/, "");
  return /^(?:BEGIN|COMMIT|END|START\s+TRANSACTION|ABORT|PREPARE\s+TRANSACTION)\b/i.test(start) ||
    /^ROLLBACK\b(?!\s+(?:TRANSACTION\s+)?TO\b)/i.test(start);
}

const blank = /^(?:\s|--|\/\*)/;

/** CREATE TRIGGER of SQLite, and CREATE FUNCTION of Postgres with a body in SQL. */
function hasBody(words: readonly string[]): boolean {
  return words[0] === "CREATE" &&
    words.slice(1, 5).some((word) => /^(?:TRIGGER|FUNCTION|PROCEDURE)$/.test(word));
}

function opensBody(word: string, words: readonly string[]): boolean {
  const isTrigger = words.slice(1, 4).includes("TRIGGER");
  return isTrigger ? word === "BEGIN" : word === "ATOMIC" && words.at(-1) === "BEGIN";
}

function firstWords(words: readonly string[]): string {
  return words.slice(0, 3).join(" ");
}

/** The token that begins at a place: what is quoted, a comment, blanks, a word or one character. */
function tokenAt(script: string, at: number, engine: SqlEngine): string {
  const patterns = engine === "sqlite" ? sqliteTokens : postgresTokens;
  patterns.lastIndex = at;
  const token = patterns.exec(script)?.[0] ?? script.charAt(at);
  if (engine === "postgres") {
    if (token.startsWith("/*")) return nestedComment(script, at);
    const [tag] = /^\$(?:[\p{L}_][\p{L}\d_]*)?\$/u.exec(token) ?? [];
    if (tag !== undefined) return closedBy(script, at, tag);
  }
  if (opened.test(token) && !closed.test(token)) throw new Error(notClosed(script, at));
  return token;
}

const sqliteTokens =
  /\s+|--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]|[\p{L}\d_$]+|[^]/uy;
const postgresTokens =
  /\s+|--[^\n]*|\/\*|[eE]'(?:[^'\\]|''|\\[^])*'?|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|\$(?:[\p{L}_][\p{L}\d_]*)?\$|[\p{L}\d_][\p{L}\d_$]*|[^]/uy;

const opened = /^(?:[eE]?'|["`]|\/\*)/;
const closed =
  /^(?:[eE]'(?:[^'\\]|''|\\[^])*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\/\*[^]*\*\/)$/;

function closedBy(script: string, at: number, tag: string): string {
  const end = script.indexOf(tag, at + tag.length);
  if (end < 0) throw new Error(notClosed(script, at));
  return script.slice(at, end + tag.length);
}

/** Comments of Postgres nest. */
function nestedComment(script: string, at: number): string {
  let depth = 0;
  for (const match of script.slice(at).matchAll(/\/\*|\*\//g)) {
    depth += match[0] === "/*" ? 1 : -1;
    if (depth === 0) return script.slice(at, at + match.index + 2);
  }
  throw new Error(notClosed(script, at));
}

function notClosed(script: string, at: number): string {
  const line = script.slice(0, at).split("\n").length;
  return `what begins in line ${line} with ${script.slice(at, at + 12)} is not closed`;
}
