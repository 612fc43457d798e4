import { didYouMean } from "../../problem/nearest_name.ts";
import { isSortable } from "../../schema/structured/structured_value.ts";
import type { ColumnDraft, IntrospectOptions, TableDraft } from "../introspection.ts";

export type NameEquality = (left: string, right: string) => boolean;

/** Infers keys of views: a simple view with all key columns of its table gets the table's key. */
export function inferViewKeys(
  drafts: readonly TableDraft[],
  isSame: NameEquality,
): readonly TableDraft[] {
  for (let known = drafts;;) {
    const next = known.map((draft) =>
      inferKey(draft, known, isSame) ?? withStoredColumns(draft, known, isSame) ?? draft
    );
    if (next.every((draft, index) => draft === known[index])) return known;
    known = next;
  }
}

function inferKey(
  view: TableDraft,
  drafts: readonly TableDraft[],
  isSame: NameEquality,
): TableDraft | null {
  if (view.simple === null || (view.isDistinct && view.key.length > 0)) return null;
  const found = findSources(view, drafts, isSame);
  if (found === null || !found.base.isDistinct || found.base.key.length === 0) return null;
  const { base, sources } = found;
  const places = base.key.map((name) => sources.findIndex((source) => source?.dbName === name));
  const key = places.map((place) => view.columns[place]?.dbName);
  if (!key.every((name) => name !== undefined)) return null;
  const keyed = view.columns.map((column, index) =>
    places.includes(index) ? { ...column, notNull: sources[index]?.notNull === true } : column
  );
  return { ...view, columns: keyed, key, isDistinct: true };
}

function withStoredColumns(
  view: TableDraft,
  drafts: readonly TableDraft[],
  isSame: NameEquality,
): TableDraft | null {
  const { sources = [] } = findSources(view, drafts, isSame) ?? {};
  const isNewlyStored = view.columns.map((column, index) =>
    column.varies === true && sources[index]?.varies === false
  );
  if (!isNewlyStored.includes(true)) return null;
  const columns = view.columns.map((column, index) =>
    isNewlyStored[index] === true ? { ...column, varies: false } : column
  );
  return { ...view, columns };
}

/** Applies a table's column rules to its writable simple views, which have no constraints. */
export function inheritWriteRules(
  drafts: readonly TableDraft[],
  isSame: NameEquality,
): readonly TableDraft[] {
  const inherit = (draft: TableDraft): TableDraft => {
    if (draft.view?.insert !== true) return draft;
    const { isTriggered } = draft.view;
    const found = findSources(draft, drafts, isSame);
    const base = found === null ? null : inherit(found.base);
    const columns = draft.columns.map((column, index) => {
      const isKey = draft.key.includes(column.dbName);
      const source = base?.columns.find(({ dbName }) => dbName === found?.sources[index]?.dbName);
      const { notNull, enumValues, generated } = source ?? column;
      const defaultSql = column.defaultSql ?? source?.defaultSql ?? null;
      if (!isTriggered) return { ...column, notNull, enumValues, generated, defaultSql };
      return { ...column, notNull, defaultSql: isKey || notNull ? setByTrigger : defaultSql };
    });
    return { ...draft, columns };
  };
  return drafts.map(inherit);
}

const setByTrigger = "the value that a trigger sets";

function findSources(
  view: TableDraft,
  drafts: readonly TableDraft[],
  isSame: NameEquality,
) {
  if (view.simple === null) return null;
  const { table, columns } = view.simple;
  const base = drafts.find((one) => one.schema === table.schema && isSame(one.name, table.name));
  if (base === undefined || base === view) return null;
  const sources = columns.flatMap((column): readonly (ColumnDraft | null)[] => {
    if (column.kind === "expression") return [null];
    if (column.kind === "all") return base.hasRowId ? base.columns.slice(1) : base.columns;
    return [base.columns.find(({ dbName }) => isSame(dbName, column.name)) ?? null];
  });
  // If the parser finds a different number of columns than the view has, nothing is inferred.
  return sources.length === view.columns.length ? { base, sources } : null;
}

export function declareKeys(
  drafts: readonly TableDraft[],
  keys: NonNullable<IntrospectOptions["keys"]>,
  leftOut: readonly string[],
): readonly TableDraft[] {
  const named = new Map(
    Object.entries(keys).flatMap(([name, columns]) => {
      const draft = findNamed(drafts, name);
      if (draft !== undefined) return [[draft, columns] as const];
      if (leftOut.includes(name)) return [];
      const hint = didYouMean(name, drafts.map((one) => one.label));
      throw new Error(`Cannot find a key for "${name}": there is no such view or table${hint}`);
    }),
  );
  return drafts.map((draft) => {
    const columns = named.get(draft);
    return columns === undefined ? draft : withKey(draft, columns);
  });
}

/** Returns the table or view that a declared key names: by its label, its name or `schema.name`. */
export function findNamed<Table extends Pick<TableDraft, "label" | "name" | "schema">>(
  tables: readonly Table[],
  name: string,
): Table | undefined {
  return tables.find((one) => one.label === name) ?? tables.find((one) => one.name === name) ??
    tables.find((one) => `${one.schema}.${one.name}` === name);
}

/** Adds the key. Makes a table read-only, because nothing ensures that the key is unique. */
function withKey(draft: TableDraft, columns: readonly string[]): TableDraft {
  const { label, key, view } = draft;
  const subject = `Cannot use (${columns.join(", ")}) as the key of "${label}"`;
  if (view === null && key.length > 0) {
    throw new Error(`${subject}: it has the key ${key.join(", ")}`);
  }
  if (columns.length === 0 || new Set(columns).size < columns.length) {
    throw new Error(`${subject}: name one column or more, each once`);
  }
  for (const wanted of columns) {
    const column = draft.columns.find(({ dbName }) => dbName === wanted);
    if (column === undefined) {
      const hint = didYouMean(wanted, draft.columns.map(({ dbName }) => dbName));
      throw new Error(`${subject}: it has no column "${wanted}"${hint}`);
    }
    if (!isSortable({ ...column, primaryKey: false, references: null, default: null })) {
      throw new Error(`${subject}: the type of "${wanted}" has no order`);
    }
  }
  const isInferred = draft.isDistinct && key.length === columns.length &&
    key.every((one) => columns.includes(one));
  return { ...draft, key: columns, isDistinct: isInferred, isReadOnly: view === null };
}
