import { ddlTokenPattern } from "../../../sql/statements/sql_tokens.ts";

/**
 * Returns true if a CREATE TABLE statement has a conflict clause other than ABORT, like `UNIQUE ON
 * CONFLICT REPLACE`. ABORT is the default of SQLite.
 */
export function hasConflictClause(statement: string): boolean {
  const words = [...statement.matchAll(ddlTokenPattern)]
    .map(([token]) => token.toUpperCase())
    .filter((token) => !blank.test(token));
  return words.some((word, index) =>
    word === "ON" && words[index + 1] === "CONFLICT" &&
    resolutions.has(words[index + 2] ?? "")
  );
}

const resolutions: ReadonlySet<string> = new Set(["REPLACE", "IGNORE", "FAIL", "ROLLBACK"]);
const blank = /^(?:\s|--|\/\*)/;
