export function withoutLeadingComments(text: string): string {
  return text.slice(blanks.exec(text)?.[0].length ?? 0);
}

const blanks = /^(?:\s|;|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$))*/;
