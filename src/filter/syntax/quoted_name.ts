import { invalidParameter } from "../../problem/problem.ts";

/** Quotes a name, unless it is an identifier, in which `-` and `/` are allowed, too. */
export function quoteName(name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$\-/]*$/u.test(name) ? name : `"${name.replace(/["\\]/g, "\\$&")}"`;
}

export function quotePath(names: readonly string[]): string {
  return names.map(quoteName).join(".");
}

export interface QuotedName {
  readonly name: string;
  readonly end: number;
}

export function readQuotedName(text: string, at: number): QuotedName | null {
  const quote = text.charAt(at);
  let name = "";
  for (let end = at + 1; end < text.length; end++) {
    const character = text.charAt(end);
    if (character === quote) return { name, end: end + 1 };
    // As in a quoted value, the character after a backslash is taken literally.
    name += character === "\\" ? text.charAt(++end) : character;
  }
  return null;
}

/** `after(at)` returns the end of a quoted name at `at`, or `at`. Call it for indexes in order. */
export function findQuotedNames(text: string) {
  let before = ",";
  return {
    after(at: number) {
      const character = text.charAt(at);
      const opens = character === '"' && ",.-:;(".includes(before);
      if (character.trim() !== "") before = character;
      if (!opens) return at;
      const found = readQuotedName(text, at);
      if (found !== null) return found.end;
      throw invalidParameter(`Cannot read the names at ${at}: the quote is not closed`);
    },
  };
}

export function splitPath(path: string): readonly string[] {
  return splitNames(path, ".").map(nameOfItem);
}

export function splitNames(text: string, separator = ","): readonly string[] {
  if (!text.includes('"')) return text.split(separator).map((item) => item.trim());
  const items: string[] = [];
  const quoted = findQuotedNames(text);
  let from = 0;
  for (let at = 0; at < text.length;) {
    const end = quoted.after(at);
    if (end === at && text.charAt(at) === separator) {
      items.push(text.slice(from, at).trim());
      from = at + 1;
    }
    at = end === at ? at + 1 : end;
  }
  items.push(text.slice(from).trim());
  return items;
}

export function nameOfItem(item: string): string {
  if (!item.startsWith('"')) return item;
  const quoted = readQuotedName(item, 0);
  return quoted?.end === item.length ? quoted.name : item;
}
