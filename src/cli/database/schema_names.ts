/**
 * Reads the value of `--schema`: names of schemas between commas, `*` for all. One with a comma or a
 * quote stands in double quotes, as in SQL; without them, too, upper case stays upper case. Null for
 * a list that has no meaning.
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

/** Writes a name so that it can be given to `--schema`, before a shell reads it. */
export function writeSchemaName(name: string): string {
  return /^\s|\s$|[",]|^\*$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

/** What is wrong with a value of `--schema` that has no meaning. */
export function wrongSchemas(text: string): string {
  return `The schemas must be names between commas, as in a,b or "a,b",c, not ${text}`;
}
