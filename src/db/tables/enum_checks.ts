export function sqliteEnumChecks(createTable: string): ReadonlyMap<string, readonly string[]> {
  const lists = new Map<string, readonly string[]>();
  for (const [, name = "", list = ""] of createTable.matchAll(sqliteCheck)) {
    const column = name.replace(/^["`[](.*)["`\]]$/, "$1").toLowerCase();
    lists.set(column, textsOf(list));
  }
  return lists;
}

/** Parses `column IN ('a', 'b')` as Postgres prints it. Returns null for any other CHECK. */
export function postgresEnumCheck(definition: string): readonly string[] | null {
  const [, list, only] = postgresCheck.exec(definition) ?? [];
  const texts = list ?? only;
  return texts === undefined ? null : textsOf(texts);
}

const sqliteCheck =
  /\bCHECK\s*\(\s*("[^"]+"|`[^`]+`|\[[^\]]+\]|\w+)\s+IN\s*\(\s*('(?:[^']|'')*'(?:\s*,\s*'(?:[^']|'')*')*)\s*\)\s*\)/gi;

const postgresCheck =
  /^CHECK \(+(?:"(?:[^"]|"")+"|[\w$]+)\)?(?:::text)? = (?:ANY \(+ARRAY\[('(?:[^']|'')*'::[a-z ]+(?:, '(?:[^']|'')*'::[a-z ]+)*)\]\)?(?:::text\[\])?|('(?:[^']|'')*')::[a-z ]+)\)+$/;

function textsOf(list: string): readonly string[] {
  return [...list.matchAll(/'((?:[^']|'')*)'/g)].map(([, text = ""]) => text.replaceAll("''", "'"));
}
