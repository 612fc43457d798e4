/** The text of a statement after blanks and comments; empty where there is no statement. */
export function statementStart(text: string): string {
  return text.slice(blanks.exec(text)?.[0].length ?? 0);
}

const blanks = /^(?:\s|;|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$))*/;
