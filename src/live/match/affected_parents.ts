import type { Change, ChangeLog, Position } from "../../db/changes/change_log.ts";
import type { Connection } from "../../db/driver.ts";
import { fetchRelated, type RowReader } from "../../db/rows.ts";
import { keyId, keyOf } from "../../plan/key.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { LiveQuery } from "../dispatch/subscriber_group.ts";
import { rowChangeKey, rowChangesOf } from "./row_change.ts";
import { type IncludePath, linkValuesOf, type ParentStep } from "./include_path.ts";

/** Those to whom the changes of related rows are something, and how one gets to their rows. */
export interface AffectedGroup {
  readonly query: Pick<LiveQuery, "resource" | "table" | "reader">;
  readonly includePaths: readonly IncludePath[];
}

/** A row under which something has changed, as it is now. */
export interface AffectedParent<S> {
  readonly row: Row;
  /** To whom something has changed under it. */
  readonly groups: ReadonlySet<S>;
}

/** What was found above the changes. */
export interface FoundParents<S> {
  readonly rows: readonly AffectedParent<S>[];
  /** To whom too much has changed at once. */
  readonly overflowing: ReadonlySet<S>;
}

/** The most rows that are told because of related ones, for each way that leads to them. */
export const maxAffectedParents = 500;

/**
 * The rows under which something has changed that is shown there, or that decides about them. Those
 * who get there by the same relations share the search: one statement for each step up, however
 * many changes and subscribers there are.
 */
export class AffectedParents<S extends AffectedGroup> {
  readonly #searches = new Map<string, ParentSearch<S>>();

  /** Whether nothing has changed under any row. */
  get isEmpty(): boolean {
    return this.#searches.size === 0;
  }

  /** All to whom something may have changed. */
  get groups(): ReadonlySet<S> {
    const groups = new Set<S>();
    for (const { keys } of this.#searches.values()) addAll(groups, keys.values());
    return groups;
  }

  /** Follows a change to the rows above its own. */
  add(change: Change, group: S): void {
    for (const path of group.includePaths) {
      if (path.table !== change.table) continue;
      for (const value of linkValuesOf(change, path)) {
        const { keys } = this.#searchOf(path, group);
        keys.set(value, (keys.get(value) ?? new Set()).add(group));
      }
    }
  }

  /**
   * Finds the rows above `changes`, which are all up to `position`. A row that has changed itself
   * is none of them where that is told as well, or will be: what is shown under it comes along.
   */
  async find(
    log: ChangeLog,
    changes: readonly Change[],
    position: Position,
  ): Promise<FoundParents<S>> {
    const parentRows = await this.#readParents(log);
    // They may have been read later than the changes.
    const isAhead = parentRows.some(({ rows, at }) =>
      rows !== null && rows.size > 0 && !log.includes(position, at)
    );
    const next = isAhead ? await log.next(position) : null;
    return this.#gather(parentRows, new ChangedRows([...changes, ...next?.changes ?? []]));
  }

  /** The same with those that have changed themselves. */
  async findAll(log: ChangeLog): Promise<FoundParents<S>> {
    return this.#gather(await this.#readParents(log), new ChangedRows([]));
  }

  #readParents(log: ChangeLog): Promise<readonly ParentRows<S>[]> {
    return Promise.all([...this.#searches.values()].map((search) => parentStep(search, log)));
  }

  #gather(parentRows: readonly ParentRows<S>[], changed: ChangedRows): FoundParents<S> {
    const affected = new Map<string, { readonly row: Row; readonly groups: Set<S> }>();
    const overflowing = new Set<S>();
    const searches = [...this.#searches.values()];
    for (const [index, { keys, group: { query: { resource, table } } }] of searches.entries()) {
      const rows = parentRows[index]?.rows ?? null;
      if (rows === null) addAll(overflowing, keys.values());
      for (const [row, groups] of rows ?? []) {
        if (changed.has(row, table)) continue;
        // Several ways may lead to one row.
        const id = `${resource} ${keyId(keyOf(row, table), table)}`;
        const known = affected.get(id) ?? { row, groups: new Set() };
        addAll(known.groups, [groups]);
        affected.set(id, known);
      }
    }
    return { rows: [...affected.values()], overflowing };
  }

  #searchOf({ name, parentSteps }: IncludePath, group: S): ParentSearch<S> {
    const id = `${group.query.resource} ${name}`;
    const known = this.#searches.get(id);
    if (known !== undefined) return known;
    const search: ParentSearch<S> = { parentSteps, group, keys: new Map() };
    this.#searches.set(id, search);
    return search;
  }
}

/** One way up, and where it begins. */
interface ParentSearch<S> {
  readonly parentSteps: readonly ParentStep[];
  /** One of those who go this way. */
  readonly group: S;
  /** The values that lead up, and for whom. */
  readonly keys: Map<unknown, Set<S>>;
}

interface ParentRows<S> {
  /** Null where there are too many. */
  readonly rows: ReadonlyMap<Row, ReadonlySet<S>> | null;
  /** What the rows know of. */
  readonly at: Position;
}

async function parentStep<S extends AffectedGroup>(
  { parentSteps, group, keys: first }: ParentSearch<S>,
  log: ChangeLog,
): Promise<ParentRows<S>> {
  const { table, reader } = group.query;
  let keys: ReadonlyMap<unknown, ReadonlySet<S>> = first;
  for (const [index, step] of parentSteps.entries()) {
    const above = parentSteps[index + 1]?.relation.steps[0].own;
    const columns = above === undefined ? table.columns : [above];
    const { rows, at } = await readAbove(log, { step, keys, columns, reader });
    if (rows === null || above === undefined) return { rows, at };
    keys = keysOf(rows, above);
    if (keys.size === 0) return { rows: new Map(), at };
  }
  throw new Error("A way leads somewhere");
}

interface Step<S> {
  readonly step: ParentStep;
  readonly keys: ReadonlyMap<unknown, ReadonlySet<S>>;
  readonly columns: readonly ColumnInfo[];
  readonly reader: RowReader;
}

async function readAbove<S>(
  log: ChangeLog,
  { step: { relation, where, links, isIndexed }, keys, columns, reader }: Step<S>,
): Promise<ParentRows<S>> {
  let at: Position | null = null;
  const connection: Connection = {
    async query(statement) {
      const { position, ...result } = await log.readAt(statement);
      at = position;
      return result;
    },
  };
  const { target } = relation;
  const found = await fetchRelated(connection, {
    kind: "related",
    relation,
    keys: [...keys.keys()],
    columns,
    where,
    links,
    order: target.primaryKey.map((column) => ({ column, descending: false })),
    limit: maxAffectedParents + 1,
    // One more tells that there are too many.
    most: maxAffectedParents + 1,
    byIndex: isIndexed,
  }, reader);
  if (at === null) throw new Error("Nothing was read");
  if (found.rows.length > maxAffectedParents) return { rows: null, at };
  const groups = [...keys.values()];
  const rows = new Map(found.rows.map((row, index) => {
    return [row, groups[found.places[index] ?? -1] ?? new Set<S>()] as const;
  }));
  return { rows, at };
}

function keysOf<S>(
  rows: ReadonlyMap<Row, ReadonlySet<S>>,
  { name }: ColumnInfo,
): ReadonlyMap<unknown, ReadonlySet<S>> {
  const keys = new Map<unknown, Set<S>>();
  for (const [row, groups] of rows) {
    const key = row[name] ?? null;
    if (key === null) continue;
    const known = keys.get(key) ?? new Set();
    addAll(known, [groups]);
    keys.set(key, known);
  }
  return keys;
}

/** Which rows some changes are about. */
class ChangedRows {
  readonly #changes: readonly Change[];
  readonly #byTable = new Map<TableInfo, Set<string>>();

  constructor(changes: readonly Change[]) {
    this.#changes = changes;
  }

  has(row: Row, table: TableInfo): boolean {
    const ids = this.#byTable.get(table) ?? this.#idsOf(table);
    this.#byTable.set(table, ids);
    return ids.has(keyId(keyOf(row, table), table));
  }

  #idsOf(table: TableInfo): Set<string> {
    const ids = new Set<string>();
    for (const change of this.#changes) {
      if (change.table !== table || (change.before ?? change.after) === null) continue;
      for (const rowChange of rowChangesOf(change)) {
        ids.add(keyId(rowChangeKey(rowChange, table), table));
      }
    }
    return ids;
  }
}

function addAll<T>(set: Set<T>, more: Iterable<Iterable<T>>): void {
  for (const some of more) for (const one of some) set.add(one);
}
