import { didYouMean } from "../../problem/nearest_name.ts";
import { isSortable } from "../../schema/structured/kind_of_column.ts";
import type { ColumnDraft, IntrospectOptions, TableDraft } from "../introspection.ts";
import type { SimpleView } from "./simple_view.ts";

/** True if two names are one to the engine. */
export type SameName = (left: string, right: string) => boolean;

/**
 * Returns each simple view the key of its table, where its columns are all there: its rows are rows of
 * the table, each at most once. Its columns that are those of the table have stored values. Views of
 * views follow from one another.
 */
export function inferViewKeys(
  drafts: readonly TableDraft[],
  isSame: SameName,
): readonly TableDraft[] {
  for (let known = drafts;;) {
    const next = known.map((draft) =>
      inferKey(draft, known, isSame) ?? withStoredColumns(draft, known, isSame) ?? draft
    );
    if (next.every((draft, index) => draft === known[index])) return known;
    known = next;
  }
}

/** Null if it has a key or gets none. */
function inferKey(
  view: TableDraft,
  drafts: readonly TableDraft[],
  isSame: SameName,
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

/** Null if no column of a view is found to be a stored one that was not before. */
function withStoredColumns(
  view: TableDraft,
  drafts: readonly TableDraft[],
  isSame: SameName,
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

interface ViewSources {
  /** The table or view that a simple view selects from. */
  readonly base: TableDraft;
  /** The column of it that each column of the view is; null for an expression. */
  readonly sources: readonly (ColumnDraft | null)[];
}

function findSources(
  view: TableDraft,
  drafts: readonly TableDraft[],
  isSame: SameName,
): ViewSources | null {
  if (view.simple === null) return null;
  const { table, columns } = view.simple;
  const base = drafts.find((one) => one.schema === table.schema && isSame(one.name, table.name));
  if (base === undefined || base === view) return null;
  const sources = sourcesOf(columns, base, isSame);
  // Another number of columns was counted otherwise than here.
  return sources.length === view.columns.length ? { base, sources } : null;
}

/** The column of the table that each column of a view is; null for an expression. */
function sourcesOf(
  columns: SimpleView["columns"],
  base: TableDraft,
  isSame: SameName,
): readonly (ColumnDraft | null)[] {
  return columns.flatMap((column): readonly (ColumnDraft | null)[] => {
    if (column.kind === "expression") return [null];
    if (column.kind === "all") return base.hasRowId ? base.columns.slice(1) : base.columns;
    return [base.columns.find(({ dbName }) => isSame(dbName, column.name)) ?? null];
  });
}

/**
 * Returns the views and tables that have no key the declared ones. Throws a plain Error for a name
 * that is none of theirs, unless it is among `leftOut`, and for a table that has a key.
 */
export function declareKeys(
  drafts: readonly TableDraft[],
  keys: NonNullable<IntrospectOptions["keys"]>,
  leftOut: readonly string[],
): readonly TableDraft[] {
  const named = new Map(
    Object.entries(keys).flatMap(([name, columns]) => {
      const draft = findDraft(drafts, name);
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

function findDraft(drafts: readonly TableDraft[], name: string): TableDraft | undefined {
  return drafts.find((one) => one.label === name) ?? drafts.find((one) => one.name === name) ??
    drafts.find((one) => `${one.schema}.${one.name}` === name);
}

/** Nothing ensures that the key is unique: such a table is only read. */
function withKey(draft: TableDraft, columns: readonly string[]): TableDraft {
  const { label, key, isView } = draft;
  const subject = `Cannot use (${columns.join(", ")}) as the key of "${label}"`;
  if (!isView && key.length > 0) throw new Error(`${subject}: it has the key ${key.join(", ")}`);
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
  return { ...draft, key: columns, isDistinct: isInferred, isReadOnly: true };
}
