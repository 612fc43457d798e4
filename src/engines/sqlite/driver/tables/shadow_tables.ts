export interface TableListEntry {
  readonly name: string;
  readonly type: string;
  readonly sql: string;
}

/** Returns the tables that hold virtual tables' data, by common names if the module is missing. */
export function shadowTables(
  listed: readonly TableListEntry[],
  modules: ReadonlySet<string>,
): ReadonlySet<string> {
  const unknown = listed
    .filter(({ type }) => type === "virtual")
    .map(({ name, sql }) => ({ name: name.toLowerCase(), module: moduleOf(sql) }))
    .filter(({ module }) => module === null || !modules.has(module));
  const isShadow = ({ name, type }: TableListEntry) =>
    type === "shadow" || type === "table" && unknown.some((owner) => isNamedBy(owner, name));
  return new Set(listed.filter(isShadow).map(({ name }) => name));
}

/** Returns the lower-case name of a virtual table's module, because SQLite ignores its case. */
export function moduleOf(sql: string): string | null {
  return usingClause.exec(sql)?.[1]?.toLowerCase() ?? null;
}

/** Matches CREATE VIRTUAL TABLE name USING module. Quotes and brackets keep a name together. */
const usingClause =
  /^CREATE\s+VIRTUAL\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|'(?:[^']|'')*'|[^\s"'`[])+\s*USING\s+["'`[]?([^\s"'`\](]+)/i;

function isNamedBy(
  owner: { readonly name: string; readonly module: string | null },
  table: string,
): boolean {
  const name = table.toLowerCase();
  if (!name.startsWith(`${owner.name}_`)) return false;
  const ending = name.slice(owner.name.length + 1);
  const endings = endingsOf.get(owner.module ?? "");
  return endings === undefined ? allEndings.test(ending) : endings.test(ending);
}

const fullText3 = /^(?:content|segments|segdir|docsize|stat)$/;
const spatial = /^(?:node|rowid|parent)$/;

const endingsOf: ReadonlyMap<string, RegExp> = new Map([
  ["fts3", fullText3],
  ["fts4", fullText3],
  ["fts5", /^(?:data|idx|content|docsize|config)$/],
  ["rtree", spatial],
  ["rtree_i32", spatial],
  ["geopoly", spatial],
  ["spellfix1", /^vocab$/],
  ["vec0", /^(?:info|chunks|rowids|auxiliary|(?:vector_chunks|metadatachunks|metadatatext)\d+)$/],
]);

const allEndings = {
  test: (ending: string) => [...endingsOf.values()].some((endings) => endings.test(ending)),
};
