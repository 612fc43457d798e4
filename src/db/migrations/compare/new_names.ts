import { quoteIdentifier } from "../../../sql/fragment.ts";

export function createRenamer(renamed: ReadonlyMap<string, string>): (name: string) => string {
  const now = new Map([...renamed].map(([to, from]) => [from.toLowerCase(), to]));
  return (name) => now.get(name.toLowerCase()) ?? name;
}

export function withNewNames(sql: string, renamed: ReadonlyMap<string, string>): string {
  if (renamed.size === 0) return sql;
  const now = createRenamer(renamed);
  return sql.replaceAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[\w$\u0080-\u{10ffff}]+/gu, (word) => {
    if (word.startsWith("'")) return word;
    const name = word.startsWith('"') ? word.slice(1, -1).replaceAll('""', '"') : word;
    const to = now(name);
    return to === name ? word : quoteIdentifier(to);
  });
}
