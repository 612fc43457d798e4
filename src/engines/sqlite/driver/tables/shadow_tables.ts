/** A table, view or virtual table as `pragma_table_list` has it. */
export interface ListedName {
  readonly name: string;
  /** `table`, `view`, `virtual` or `shadow`. */
  readonly type: string;
  /** The CREATE statement. */
  readonly sql: string;
}

/**
 * The names of the tables that hold the content of virtual tables. SQLite knows those of a virtual
 * table whose module the library has. Of another one, a library lists them as ordinary tables:
 * there they are known by the names that the usual modules give them.
 */
export function shadowTables(
  listed: readonly ListedName[],
  modules: ReadonlySet<string>,
): ReadonlySet<string> {
  const unknown = listed
    .filter(({ type }) => type === "virtual")
    .map(({ name, sql }) => ({ name: name.toLowerCase(), module: moduleOf(sql) }))
    .filter(({ module }) => module === null || !modules.has(module));
  const isShadow = ({ name, type }: ListedName) =>
    type === "shadow" || type === "table" && unknown.some((owner) => isNamedBy(owner, name));
  return new Set(listed.filter(isShadow).map(({ name }) => name));
}

/** In lower case, as SQLite compares the names of modules. */
function moduleOf(sql: string): string | null {
  return usingClause.exec(sql)?.[1]?.toLowerCase() ?? null;
}

/** CREATE VIRTUAL TABLE name USING module, where quotes and brackets keep a name in one piece. */
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

/** What modules of SQLite and usual extensions append to the name of their table. */
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

/** Of a module that is not known here: what any of them could append. */
const allEndings = {
  test: (ending: string) => [...endingsOf.values()].some((endings) => endings.test(ending)),
};
