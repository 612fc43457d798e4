import { quoteIdentifier } from "../../../sql/fragment.ts";

/** Returns the new name of what is renamed, and any other name as it is; `renamed` has the old names by the new ones. */
export function newNames(renamed: ReadonlyMap<string, string>): (name: string) => string {
  const now = new Map([...renamed].map(([to, from]) => [from.toLowerCase(), to]));
  return (name) => now.get(name.toLowerCase()) ?? name;
}

/** SQL in which names are replaced by their new ones; strings stay as they are. */
export function withNewNames(sql: string, renamed: ReadonlyMap<string, string>): string {
  if (renamed.size === 0) return sql;
  const now = newNames(renamed);
  return sql.replaceAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[\w$\u0080-\u{10ffff}]+/gu, (word) => {
    if (word.startsWith("'")) return word;
    const name = word.startsWith('"') ? word.slice(1, -1).replaceAll('""', '"') : word;
    const to = now(name);
    return to === name ? word : quoteIdentifier(to);
  });
}
