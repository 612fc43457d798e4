/** Returns a statement without the blanks and comments before it. The result can be empty. */
export function withoutLeadingComments(text: string): string {
  return text.slice(blanks.exec(text)?.[0].length ?? 0);
}

const blanks = /^(?:\s|;|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$))*/;
