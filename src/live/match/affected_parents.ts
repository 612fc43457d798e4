import type { Change, ChangeLog, ChangeLogStep } from "../../db/changes/change_log.ts";
import { coversPosition, type Position } from "../../db/changes/log_position.ts";
import { keyId, keyOf } from "../../plan/key.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";
import type { LiveQuery } from "../live_view.ts";
import { rowChangeKey, rowChangesOf } from "./row_change.ts";
import {
  addParentKey,
  type IncludePath,
  linkKeysOf,
  type ParentRows,
  type ParentSearch,
  searchParents,
} from "./search_parents.ts";

export interface AffectedGroup {
  readonly query: Pick<LiveQuery, "resource" | "table" | "reader">;
  readonly includePaths: readonly IncludePath[];
}

export interface AffectedParent<G> {
  readonly row: Row;
  readonly groups: ReadonlySet<G>;
}

export interface FoundParents<G> {
  readonly rows: readonly AffectedParent<G>[];
  /** The groups whose affected parents are too many or too large to evaluate together. */
  readonly overflowing: ReadonlySet<G>;
}

/** Finds the rows (parents) that include a changed row, or whose filter reads a changed row. */
export class AffectedParents<G extends AffectedGroup> {
  readonly #identity: string;
  readonly #searches = new Map<string, ParentSearch<G>>();

  constructor(identity: string) {
    this.#identity = identity;
  }

  get isEmpty(): boolean {
    return this.#searches.size === 0;
  }

  get groups(): ReadonlySet<G> {
    const groups = new Set<G>();
    for (const search of this.#searches.values()) addAll(groups, groupsOf(search));
    return groups;
  }

  add(change: Change, group: G): void {
    for (const path of group.includePaths) {
      if (path.table !== change.table) continue;
      for (const key of linkKeysOf(change, path)) {
        addParentKey(this.#searchOf(path, group).keys, key, [group]);
      }
    }
  }

  /**
   * Finds the affected parents that have not changed themselves. If it is unknown which parents
   * have changed, returns all groups as `overflowing`, because their clients may lack a parent.
   */
  async find(
    log: ChangeLog,
    changes: readonly Change[],
    position: Position,
  ): Promise<FoundParents<G>> {
    const parentRows = await this.#readParents(log);
    // Parents read after `position` may include further changes, so the next changes are read, too.
    if (hasReadUpTo(position, parentRows)) {
      return this.#gather(parentRows, changeTest(changes));
    }
    const next = await log.next(position);
    if (!isWhole(next, parentRows)) return { rows: [], overflowing: this.groups };
    return this.#gather(parentRows, changeTest([...changes, ...next.changes]));
  }

  /** Finds all affected parents, also parents that changed themselves, and former parents. */
  async findAll(log: ChangeLog, position: Position): Promise<FoundParents<G>> {
    const parentRows = await this.#readParents(log);
    const found = this.#gather(parentRows, () => false);
    // A read without rows may have seen changes after its position, so later changes are read, too.
    const isEmpty = parentRows.some((found) => found?.rows.size === 0);
    if (!isEmpty && hasReadUpTo(position, parentRows)) return found;
    const next = await log.next(position);
    if (!isWhole(next, parentRows)) return { rows: [], overflowing: this.groups };
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

  #gather(parentRows: readonly (ParentRows<G> | null)[], hasChanged: ChangeTest): FoundParents<G> {
    const affected = new Map<string, { readonly row: Row; readonly groups: Set<G> }>();
    const overflowing = new Set<G>();
    const searches = [...this.#searches.values()];
    for (const [index, search] of searches.entries()) {
      const { resource, table } = search.group.query;
      const rows = parentRows[index]?.rows ?? null;
      if (rows === null) addAll(overflowing, groupsOf(search));
      for (const [row, groups] of rows ?? []) {
        if (hasChanged(row, table)) continue;
        // A row can be a parent of the changed rows by several include paths.
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

function hasReadUpTo<G>(
  position: Position,
  parentRows: readonly (ParentRows<G> | null)[],
): boolean {
  return parentRows.every((found) =>
    found === null || found.rows.size === 0 || coversPosition(position, found.at)
  );
}

/** Returns true if `step` (a read of the log) contains all changes that the parents' reads saw. */
function isWhole<G>(
  step: ChangeLogStep | null,
  parentRows: readonly (ParentRows<G> | null)[],
): step is ChangeLogStep {
  return step !== null && step.to !== null && hasReadUpTo(step.to, parentRows);
}

type ChangeTest = (row: Row, table: TableInfo) => boolean;

function changeTest(changes: readonly Change[]): ChangeTest {
  const byTable = new Map<TableInfo, ReadonlySet<string> | "all">();
  return (row, table) => {
    const ids = byTable.get(table) ?? changedIds(changes, table);
    byTable.set(table, ids);
    return ids === "all" || ids.has(keyId(keyOf(row, table), table));
  };
}

function changedIds(changes: readonly Change[], table: TableInfo): ReadonlySet<string> | "all" {
  const own = changes.filter((change) => change.table === table);
  if (own.some(({ kind }) => kind === "touch" || kind === "truncate")) return "all";
  const rowChanges = own.flatMap((change) => rowChangesOf(change));
  return new Set(rowChanges.map((rowChange) => keyId(rowChangeKey(rowChange, table), table)));
}

function groupsOf<G>({ keys }: ParentSearch<G>): readonly ReadonlySet<G>[] {
  return [...keys.values()].map(({ groups }) => groups);
}

function addAll<T>(set: Set<T>, more: Iterable<Iterable<T>>): void {
  for (const some of more) for (const one of some) set.add(one);
}
