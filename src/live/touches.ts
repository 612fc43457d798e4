import type { Change, ChangeLog, Position } from "../db/change_log.ts";
import type { Connection } from "../db/driver.ts";
import { fetchRelated, type RowReader } from "../db/rows.ts";
import { keyId, keyOf } from "../plan/key.ts";
import type { ColumnInfo, Row, TableInfo } from "../schema/table_info.ts";
import { passageKey, passagesOf } from "./passage.ts";
import type { Showing } from "./showing.ts";
import { type Climb, leadingValues, type Way } from "./way.ts";

/** A row under which something has changed, as it is now. */
export interface TouchedRow {
  readonly row: Row;
  /** To whom something has changed under it. */
  readonly showings: ReadonlySet<Showing>;
}

/** What was found above the changes. */
export interface Touched {
  readonly rows: readonly TouchedRow[];
  /** To whom too much has changed at once. */
  readonly overflowing: ReadonlySet<Showing>;
}

/** The most rows that are told because of related ones, for each way that leads to them. */
export const mostTouched = 500;

/**
 * The rows under which something is shown that has changed. Those who show it by the same relations
 * share the search: one statement for each step up, however many changes and subscribers there are.
 */
export class Touches {
  readonly #trails = new Map<string, Trail>();

  /** Whether nothing has changed under any row. */
  get isEmpty(): boolean {
    return this.#trails.size === 0;
  }

  /** All to whom something may have changed. */
  get showings(): ReadonlySet<Showing> {
    const showings = new Set<Showing>();
    for (const { keys } of this.#trails.values()) addAll(showings, keys.values());
    return showings;
  }

  /** Follows a change to those who show its row under others. */
  add(change: Change, showing: Showing): void {
    for (const way of showing.ways) {
      if (way.table !== change.table) continue;
      for (const value of leadingValues(change, way)) {
        const { keys } = this.#trail(way, showing);
        keys.set(value, (keys.get(value) ?? new Set()).add(showing));
      }
    }
  }

  /**
   * Finds the rows above `changes`, which are all up to `position`. A row that has changed itself
   * is none of them where that is told as well, or will be: what is shown under it comes along.
   */
  async find(log: ChangeLog, changes: readonly Change[], position: Position): Promise<Touched> {
    const trails = [...this.#trails.values()];
    const climbed = await Promise.all(trails.map((trail) => climb(trail, log)));
    // They may have been read later than the changes.
    const isAhead = climbed.some(({ rows, at }) =>
      rows !== null && rows.size > 0 && !log.isBehind(position, at)
    );
    const next = isAhead ? await log.next(position) : null;
    const changed = new ChangedRows([...changes, ...next?.changes ?? []]);
    const touched = new Map<string, { readonly row: Row; readonly showings: Set<Showing> }>();
    const overflowing = new Set<Showing>();
    for (const [index, { keys, showing: { reading: { resource, table } } }] of trails.entries()) {
      const rows = climbed[index]?.rows ?? null;
      if (rows === null) addAll(overflowing, keys.values());
      for (const [row, showings] of rows ?? []) {
        if (changed.has(row, table)) continue;
        // Several ways may lead to one row.
        const id = `${resource} ${keyId(keyOf(row, table), table)}`;
        const known = touched.get(id) ?? { row, showings: new Set() };
        addAll(known.showings, [showings]);
        touched.set(id, known);
      }
    }
    return { rows: [...touched.values()], overflowing };
  }

  #trail({ name, climbs }: Way, showing: Showing): Trail {
    const id = `${showing.reading.resource} ${name}`;
    const known = this.#trails.get(id);
    if (known !== undefined) return known;
    const trail: Trail = { climbs, showing, keys: new Map() };
    this.#trails.set(id, trail);
    return trail;
  }
}

/** One way up, and where it begins. */
interface Trail {
  readonly climbs: readonly Climb[];
  /** One of those who go this way. */
  readonly showing: Showing;
  /** The values that lead up, and for whom. */
  readonly keys: Map<unknown, Set<Showing>>;
}

interface Climbed {
  /** Null where there are too many. */
  readonly rows: ReadonlyMap<Row, ReadonlySet<Showing>> | null;
  /** What the rows know of. */
  readonly at: Position;
}

async function climb({ climbs, showing, keys: first }: Trail, log: ChangeLog): Promise<Climbed> {
  const { table, reader } = showing.reading;
  let keys: ReadonlyMap<unknown, ReadonlySet<Showing>> = first;
  for (const [index, step] of climbs.entries()) {
    const above = climbs[index + 1]?.relation.steps[0].own;
    const columns = above === undefined ? table.columns : [above];
    const { rows, at } = await readAbove(log, { step, keys, columns, reader });
    if (rows === null || above === undefined) return { rows, at };
    keys = keysOf(rows, above);
    if (keys.size === 0) return { rows: new Map(), at };
  }
  throw new Error("A way leads somewhere");
}

interface Step {
  readonly step: Climb;
  readonly keys: ReadonlyMap<unknown, ReadonlySet<Showing>>;
  readonly columns: readonly ColumnInfo[];
  readonly reader: RowReader;
}

async function readAbove(
  log: ChangeLog,
  { step: { relation, where, links, isIndexed }, keys, columns, reader }: Step,
): Promise<Climbed> {
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
    limit: mostTouched + 1,
    // One more tells that there are too many.
    most: mostTouched + 1,
    byIndex: isIndexed,
  }, reader);
  if (at === null) throw new Error("Nothing was read");
  if (found.rows.length > mostTouched) return { rows: null, at };
  const showings = [...keys.values()];
  const rows = new Map(found.rows.map((row, index) => {
    return [row, showings[found.places[index] ?? -1] ?? new Set<Showing>()] as const;
  }));
  return { rows, at };
}

function keysOf(
  rows: ReadonlyMap<Row, ReadonlySet<Showing>>,
  { name }: ColumnInfo,
): ReadonlyMap<unknown, ReadonlySet<Showing>> {
  const keys = new Map<unknown, Set<Showing>>();
  for (const [row, showings] of rows) {
    const key = row[name] ?? null;
    if (key === null) continue;
    const known = keys.get(key) ?? new Set();
    addAll(known, [showings]);
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
      for (const passage of passagesOf(change)) {
        ids.add(keyId(passageKey(passage, table), table));
      }
    }
    return ids;
  }
}

function addAll<T>(set: Set<T>, more: Iterable<Iterable<T>>): void {
  for (const some of more) for (const one of some) set.add(one);
}
