import { blankToken, type SqlSyntax } from "./normal_sql.ts";

/** Splits a script into statements, without semicolons. Throws for unclosed quotes or bodies. */
export function splitStatements(script: string, syntax: SqlSyntax): readonly string[] {
  const statements: string[] = [];
  let from = 0;
  let words: string[] = [];
  let isInBody = false;
  const end = (to: number) => {
    if (isInBody) throw new Error(`the statement ${words.slice(0, 3).join(" ")} has no END`);
    if (words.length > 0) statements.push(script.slice(from, to).trim());
    [from, words] = [to + 1, []];
  };
  for (let at = 0; at < script.length;) {
    const token = tokenAt(script, at, syntax);
    if (token === ";" && !isInBody) end(at);
    else if (!blankToken.test(token)) {
      const word = token.toUpperCase();
      if (hasBody(words)) {
        if (opensBody(word, words)) isInBody = true;
        // After any other word, END ends a CASE, or is the name of a column.
        if (word === "END" && bodyEdge.test(words.at(-1) ?? "")) isInBody = false;
      }
      words.push(word);
    }
    at += token.length;
  }
  end(script.length);
  return statements;
}

export function isTransactionBoundary(statement: string): boolean {
  const start = statement.replace(/^(?:\s|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)+/, "");
  return /^(?:BEGIN|COMMIT|END|START\s+TRANSACTION|ABORT|PREPARE\s+TRANSACTION)\b/i.test(start) ||
    /^ROLLBACK\b(?!\s+(?:TRANSACTION\s+)?TO\b)/i.test(start);
}

/** Returns true for statements with a body: CREATE TRIGGER, or CREATE FUNCTION with an SQL body. */
function hasBody(words: readonly string[]): boolean {
  return words[0] === "CREATE" &&
    words.slice(1, 5).some((word) => /^(?:TRIGGER|FUNCTION|PROCEDURE)$/.test(word));
}

/** Matches the word before the END of a body. Each statement in a body ends with a semicolon. */
const bodyEdge = /^(?:;|BEGIN|ATOMIC)$/;

function opensBody(word: string, words: readonly string[]): boolean {
  const isTrigger = words.slice(1, 4).includes("TRIGGER");
  return isTrigger ? word === "BEGIN" : word === "ATOMIC" && words.at(-1) === "BEGIN";
}

function tokenAt(script: string, at: number, { scriptTokens, endOf }: SqlSyntax): string {
  scriptTokens.lastIndex = at;
  const token = scriptTokens.exec(script)?.[0] ?? script.charAt(at);
  const end = endOf(script, at, token);
  if (end === null ? opened.test(token) && !closed.test(token) : end < 0) {
    throw new Error(notClosed(script, at));
  }
  return end === null ? token : script.slice(at, end);
}

const opened = /^(?:[eE]?'|["`]|\/\*)/;
const closed =
  /^(?:[eE]'(?:[^'\\]|''|\\[^])*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\/\*[^]*\*\/)$/;

function notClosed(script: string, at: number): string {
  const line = script.slice(0, at).split("\n").length;
  return `what begins in line ${line} with ${script.slice(at, at + 12)} is not closed`;
}
