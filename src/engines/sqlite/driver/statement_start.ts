/** Returns a statement without leading blanks and comments, or an empty string if there is none. */
export function withoutLeadingComments(text: string): string {
  return text.slice(blanks.exec(text)?.[0].length ?? 0);
}

const blanks = /^(?:\s|;|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$))*/;
