/**
 * Parses the value of `--schema`: schema names with commas between them, or `*` for all schemas. A
 * name with a comma or a quote is in double quotes, as in SQL. Upper case is preserved even without
 * quotes. Returns null for an invalid list.
 */
export function readSchemaNames(text: string): readonly string[] | null {
  const names: string[] = [];
  let rest = text;
  while (true) {
    const [whole, quoted, plain] = nameAtStart.exec(rest) ?? [];
    const name = quoted?.replaceAll('""', '"') ?? plain;
    if (whole === undefined || name === undefined || name === "") return null;
    names.push(name);
    rest = rest.slice(whole.length);
    if (rest === "") return names;
    rest = rest.slice(1);
  }
}

const nameAtStart = /^\s*(?:"((?:[^"]|"")+)"|([^\s",](?:[^",]*[^\s",])?))\s*(?=,|$)/;

/** Returns a schema name in the syntax of `--schema`, without shell quoting. */
export function writeSchemaName(name: string): string {
  return /^\s|\s$|[",]|^\*$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

/** Returns the error message for an invalid value of `--schema`. */
export function schemaError(text: string): string {
  return `The schemas must be names between commas, as in a,b or "a,b",c, not ${text}`;
}
