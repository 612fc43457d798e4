import type { Change, ChangeLog } from "../../db/changes/change_log.ts";
import type { Position } from "../../db/changes/log_position.ts";
import { DatabaseError } from "../../db/database_error.ts";
import type { Connection, ReadLimits } from "../../db/driver.ts";
import { fetchRelated, type RowReader } from "../../db/rows.ts";
import { keyId, keyOf } from "../../plan/key.ts";
import type { RelatedPlan } from "../../plan/plan.ts";
import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { LiveQuery } from "../live_query.ts";
import { evaluationLimits } from "./evaluation_limits.ts";
import { type IncludePath, linkValuesOf, type ParentStep } from "./include_path.ts";
import { rowChangeKey, rowChangesOf } from "./row_change.ts";

/** A group of subscribers with parents that may be affected by changes of related rows. */
export interface AffectedGroup {
  readonly query: Pick<LiveQuery, "resource" | "table" | "reader">;
  readonly includePaths: readonly IncludePath[];
}

/** A parent row that a change of its related rows affects, as it is now. */
export interface AffectedParent<G> {
  readonly row: Row;
  /** The groups for which they have. */
  readonly groups: ReadonlySet<G>;
}

/** The affected parents that a search has found. */
export interface FoundParents<G> {
  readonly rows: readonly AffectedParent<G>[];
  /** The groups whose affected parents are too many, or too large, to be evaluated at once. */
  readonly overflowing: ReadonlySet<G>;
}

/** The most affected parents that one include path may lead to. */
export const maxAffectedParents = 500;

/**
 * The most bytes of them. A step of events has fewer, but rows may have columns that are not shown.
 */
const maxAffectedBytes = 8 * 1024 * 1024;

/**
 * Finds the parents that changes of related rows affect: rows that include them, or whose filter
 * reads them. Groups with the same include paths share the search: one statement for each step up,
 * however many changes and subscribers there are.
 */
export class AffectedParents<G extends AffectedGroup> {
  readonly #identity: string;
  readonly #searches = new Map<string, ParentSearch<G>>();

  /** Begins empty. The search takes the turns of an identity. */
  constructor(identity: string) {
    this.#identity = identity;
  }

  /** Whether no change can affect any parent. */
  get isEmpty(): boolean {
    return this.#searches.size === 0;
  }

  /** All groups with parents that may be affected. */
  get groups(): ReadonlySet<G> {
    const groups = new Set<G>();
    for (const { keys } of this.#searches.values()) addAll(groups, keys.values());
    return groups;
  }

  /** Adds the parents of a changed row to the search. */
  add(change: Change, group: G): void {
    for (const path of group.includePaths) {
      if (path.table !== change.table) continue;
      for (const value of linkValuesOf(change, path)) {
        const { keys } = this.#searchOf(path, group);
        keys.set(value, (keys.get(value) ?? new Set()).add(group));
      }
    }
  }

  /**
   * Finds the parents that are affected by `changes`, which are all up to `position`, without those
   * that have changed themselves: their own events show the included rows as well.
   */
  async find(
    log: ChangeLog,
    changes: readonly Change[],
    position: Position,
  ): Promise<FoundParents<G>> {
    const parentRows = await this.#readParents(log);
    // The parents may have been read later than the changes.
    const isAhead = parentRows.some((found) =>
      found !== null && found.rows.size > 0 && !log.includes(position, found.at)
    );
    const next = isAhead ? await log.next(position) : null;
    return this.#gather(parentRows, new ChangedRows([...changes, ...next?.changes ?? []]));
  }

  /**
   * The same with the parents that have changed themselves, and with rows that were parents at
   * `position` and have changed since: a client still holds them, and no later change would show
   * that by the related rows of now.
   */
  async findAll(log: ChangeLog, position: Position): Promise<FoundParents<G>> {
    const parentRows = await this.#readParents(log);
    const found = this.#gather(parentRows, new ChangedRows([]));
    // Without any row the position of a read may be older than the read.
    const isAhead = parentRows.some((found) =>
      found !== null && (found.rows.size === 0 || !log.includes(position, found.at))
    );
    if (!isAhead) return found;
    const next = await log.next(position);
    // There are too many changes to look at, or they are gone.
    if (next === null || next.to === null) return { rows: [], overflowing: this.groups };
    return { ...found, rows: [...found.rows, ...this.#formerParents(next.changes)] };
  }

  #formerParents(changes: readonly Change[]): readonly AffectedParent<G>[] {
    const groups = [...this.groups];
    return changes.flatMap(({ table, before }) => {
      const affected = groups.filter(({ query }) => query.table === table);
      return before === null || affected.length === 0
        ? []
        : [{ row: before, groups: new Set(affected) }];
    });
  }

  #readParents(log: ChangeLog): Promise<readonly (ParentRows<G> | null)[]> {
    return Promise.all(
      [...this.#searches.values()].map((search) => searchParents(search, this.#identity, log)),
    );
  }

  #gather(
    parentRows: readonly (ParentRows<G> | null)[],
    changed: ChangedRows,
  ): FoundParents<G> {
    const affected = new Map<string, { readonly row: Row; readonly groups: Set<G> }>();
    const overflowing = new Set<G>();
    const searches = [...this.#searches.values()];
    for (const [index, { keys, group: { query: { resource, table } } }] of searches.entries()) {
      const rows = parentRows[index]?.rows ?? null;
      if (rows === null) addAll(overflowing, keys.values());
      for (const [row, groups] of rows ?? []) {
        if (changed.has(row, table)) continue;
        // Several paths may lead to one row.
        const id = `${resource} ${keyId(keyOf(row, table), table)}`;
        const known = affected.get(id) ?? { row, groups: new Set() };
        addAll(known.groups, [groups]);
        affected.set(id, known);
      }
    }
    return { rows: [...affected.values()], overflowing };
  }

  #searchOf({ name, parentSteps }: IncludePath, group: G): ParentSearch<G> {
    const id = `${group.query.resource} ${name}`;
    const known = this.#searches.get(id);
    if (known !== undefined) return known;
    const search: ParentSearch<G> = { parentSteps, group, keys: new Map() };
    this.#searches.set(id, search);
    return search;
  }
}

/** One include path, and the values that it begins with. */
interface ParentSearch<G> {
  readonly parentSteps: readonly ParentStep[];
  /** One of the groups that have this path. */
  readonly group: G;
  /** The values that link changed rows to parents, and for which groups. */
  readonly keys: Map<unknown, Set<G>>;
}

interface ParentRows<G> {
  readonly rows: ReadonlyMap<Row, ReadonlySet<G>>;
  /** The rows were read at this position. */
  readonly at: Position;
}

/** Null where there are too many, or too large ones. */
async function searchParents<G extends AffectedGroup>(
  { parentSteps, group, keys: first }: ParentSearch<G>,
  identity: string,
  log: ChangeLog,
): Promise<ParentRows<G> | null> {
  const { table, reader } = group.query;
  let keys: ReadonlyMap<unknown, ReadonlySet<G>> = first;
  for (const [index, step] of parentSteps.entries()) {
    const parentKey = parentSteps[index + 1]?.relation.steps[0].own;
    const columns = parentKey === undefined ? table.columns : [parentKey];
    const found = await readParents(log, { step, keys, columns, reader, identity });
    if (found === null || parentKey === undefined) return found;
    keys = keysOf(found.rows, parentKey);
    if (keys.size === 0) return { rows: new Map(), at: found.at };
  }
  throw new Error("An include path has a step");
}

interface ParentRead<G> {
  readonly step: ParentStep;
  readonly keys: ReadonlyMap<unknown, ReadonlySet<G>>;
  readonly columns: readonly ColumnInfo[];
  readonly reader: RowReader;
  readonly identity: string;
}

async function readParents<G>(
  log: ChangeLog,
  { step: { relation, where, links, isIndexed }, keys, columns, reader, identity }: ParentRead<G>,
): Promise<ParentRows<G> | null> {
  const { target } = relation;
  const limits = evaluationLimits(identity, maxAffectedBytes);
  const found = await readRelated({ log, limits, reader }, {
    kind: "related",
    relation,
    keys: [...keys.keys()],
    columns,
    where,
    links,
    order: target.primaryKey.map((column) => ({ column, descending: false })),
    limit: maxAffectedParents + 1,
    // One more shows that there are too many.
    most: maxAffectedParents + 1,
    byIndex: isIndexed,
  });
  if (found === null || found.rows.length > maxAffectedParents) return null;
  const groups = [...keys.values()];
  const rows = new Map(found.rows.map((row, index) => {
    return [row, groups[found.places[index] ?? -1] ?? new Set<G>()] as const;
  }));
  return { rows, at: found.at };
}

interface RelatedRead {
  readonly log: ChangeLog;
  readonly limits: ReadLimits;
  readonly reader: RowReader;
}

/** Null where the rows are too large. */
async function readRelated({ log, limits, reader }: RelatedRead, plan: RelatedPlan) {
  let at: Position | null = null;
  const connection: Connection = {
    async query(statement) {
      const { position, ...result } = await log.readAt(statement, limits);
      at = position;
      return result;
    },
  };
  try {
    const found = await fetchRelated(connection, plan, reader);
    if (at === null) throw new Error("Nothing was read");
    return { ...found, at };
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === "too-large") return null;
    throw error;
  }
}

function keysOf<G>(
  rows: ReadonlyMap<Row, ReadonlySet<G>>,
  { name }: ColumnInfo,
): ReadonlyMap<unknown, ReadonlySet<G>> {
  const keys = new Map<unknown, Set<G>>();
  for (const [row, groups] of rows) {
    const key = row[name] ?? null;
    if (key === null) continue;
    const known = keys.get(key) ?? new Set();
    addAll(known, [groups]);
    keys.set(key, known);
  }
  return keys;
}

/** The rows that some changes are about. */
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
