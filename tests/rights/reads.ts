import type { Answer, Ask } from "./doors.ts";
import type { Dice } from "./dice.ts";
import { users } from "./fill.ts";
import { randomFilter } from "./filters.ts";
import { includeText, isValidInclude, randomIncludes, withIncluded } from "./includes.ts";
import { isCleared, mayList, withheld } from "./oracle.ts";
import { View } from "./related.ts";
import { byKey, type Caller, columnsOf, keyOf, type Row, type State } from "./state.ts";
import { type TableName, tableNames } from "./tables.ts";

/** A request with the required result. */
export interface Case {
  readonly ask: Ask;
  /** The permitted statuses. */
  readonly statuses: readonly number[];
  /** Returns what is wrong with the body of a 2xx, or null. */
  readonly check: (answer: Answer) => string | null;
}

export const callers: readonly Caller[] = [null, ...users];

/** Returns true if two values are equal, whatever the order of members is. */
export function same(left: unknown, right: unknown): boolean {
  return sorted(left) === sorted(right);
}

const sorted = (value: unknown): string =>
  JSON.stringify(
    value,
    (_key, inner) =>
      inner !== null && typeof inner === "object" && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => a < b ? -1 : 1))
        : inner,
  );

export const differs = (got: unknown, right: unknown): string | null =>
  same(got, right) ? null : `is ${JSON.stringify(got)} instead of ${JSON.stringify(right)}`;

const compare = (left: unknown, right: unknown): number =>
  left === right ? 0 : Number(left) < Number(right) || String(left) < String(right) ? -1 : 1;

/** Sorts rows by a column, with NULL last in both directions, and by the key. */
function ordered(rows: readonly Row[], table: TableName, column: string, isDown: boolean) {
  return rows.toSorted((left, right) => {
    const [a, b] = [left[column], right[column]];
    if (a === null || b === null) {
      if (a !== b) return a === null ? 1 : -1;
    } else {
      const order = typeof a === "string" ? compare(a, b) : Number(a) - Number(b);
      if (order !== 0) return isDown ? -order : order;
    }
    return byKey(table)(left, right);
  });
}

/** A list that is read page by page. */
export interface Walk {
  readonly caller: Caller;
  readonly table: TableName;
  readonly column: string;
  readonly isDown: boolean;
  readonly limit: number;
}

export function randomWalk(dice: Dice): Walk {
  const caller = dice.of(callers);
  const table = dice.of(tableNames.filter((name) => mayList(caller, name)));
  const hidden = isCleared(caller) ? undefined : withheld[table];
  const columns = columnsOf(table).filter(({ name }) => name !== hidden);
  return {
    ...{ caller, table, column: dice.of(columns).name },
    ...{ isDown: dice.once(2), limit: 1 + dice.below(4) },
  };
}

/** Returns the page that follows a row, or the first page without a row. */
export function pageOf(walk: Walk, view: View, from: { cursor: string; row: Row } | null): Case {
  const { table, column, isDown, limit } = walk;
  const rows = view.rows(table).filter((row) =>
    from === null || keyOf(table, row) !== keyOf(table, from.row) ||
    row[column] !== from.row[column]
  );
  const all = ordered(from === null ? rows : [...rows, from.row], table, column, isDown);
  const page = all.slice(from === null ? 0 : all.indexOf(from.row) + 1).slice(0, limit);
  // A cursor may be refused if its new caller reads other fields.
  const isOther = isCleared(view.caller) !== isCleared(walk.caller);
  const refusal = refused(view, table, true);
  return {
    ask: {
      ...{ operation: "list", table, caller: view.caller },
      query: {
        ...{ limit: String(limit), orderBy: `${isDown ? "-" : ""}${column}` },
        ...(from === null ? {} : { cursor: from.cursor }),
      },
    },
    statuses: refusal ?? (isOther ? [200, 400] : [200]),
    check: ({ body }) => differs(body.items, page.map((row) => withIncluded(table, row, view, []))),
  };
}

/** Draws a read, with the required result. */
export function randomRead(state: State, dice: Dice): Case {
  const caller = dice.of(callers);
  const table = dice.of(tableNames);
  const view = new View(state, caller);
  const kind = dice.below(12);
  if (kind < 4) return list(view, table, dice);
  if (kind < 6) return get(view, table, dice);
  if (kind < 8) return count(view, table, dice);
  if (kind < 10) return aggregate(view, table, dice);
  return kind < 11 ? search(view, dice) : exported(view, table, dice);
}

const refused = (view: View, table: TableName, isValid: boolean): readonly number[] | null =>
  !mayList(view.caller, table) ? [401] : isValid ? null : [400];

function list(view: View, table: TableName, dice: Dice): Case {
  const filter = dice.once(3) ? null : randomFilter(table, view, dice);
  const includes = dice.once(2) ? randomIncludes(table, view, dice) : [];
  const column = dice.of(columnsOf(table)).name;
  const isHidden = withheld[table] === column && !isCleared(view.caller);
  const isDown = dice.once(2);
  const isOrdered = dice.once(2);
  const limit = dice.once(3) ? 1 + dice.below(4) : 20;
  const isValid = (filter?.isValid ?? true) && isValidInclude(includes) &&
    !(isOrdered && isHidden);
  const right = view.rows(table).filter((row) => filter === null || filter.holds(row, view));
  const rows = isOrdered ? ordered(right, table, column, isDown) : right.toSorted(byKey(table));
  const page = rows.slice(0, limit).map((row) => withIncluded(table, row, view, includes));
  const isTotal = dice.once(4);
  return {
    ask: {
      ...{ operation: "list", table, caller: view.caller },
      ...(filter === null ? {} : { filter: filter.text }),
      query: {
        limit: String(limit),
        ...(isOrdered ? { orderBy: `${isDown ? "-" : ""}${column}` } : {}),
        ...(includes.length === 0 ? {} : { include: includeText(includes) }),
        ...(isTotal ? { totalCount: "true" } : {}),
      },
    },
    statuses: refused(view, table, isValid) ?? [200],
    check: ({ body }) =>
      differs(body.items, page) ??
        (body.totalCount === undefined ? null : differs(body.totalCount, rows.length)),
  };
}

function exported(view: View, table: TableName, dice: Dice): Case {
  const filter = randomFilter(table, view, dice);
  const rows = view.rows(table).filter((row) => filter.holds(row, view)).toSorted(byKey(table));
  return {
    ask: { operation: "export", table, caller: view.caller, filter: filter.text },
    statuses: refused(view, table, filter.isValid) ?? [200],
    check: ({ body }) => differs(body.items, rows.map((row) => withIncluded(table, row, view, []))),
  };
}

function get(view: View, table: TableName, dice: Dice): Case {
  const { caller, state } = view;
  const row = dice.maybeOf(dice.once(2) ? view.rows(table) : state[table]);
  const includes = dice.once(2) ? randomIncludes(table, view, dice) : [];
  const found = row !== null && view.rows(table).includes(row);
  const key = row === null ? (table === "taggings" ? "998,998" : "998") : keyOf(table, row);
  return {
    ask: {
      ...{ operation: "get", table, caller, key },
      query: includes.length === 0 ? {} : { include: includeText(includes) },
    },
    statuses: refused(view, table, isValidInclude(includes)) ?? (found ? [200] : [404]),
    check: ({ body }) => differs(body, row && withIncluded(table, row, view, includes)),
  };
}

function count(view: View, table: TableName, dice: Dice): Case {
  const filter = randomFilter(table, view, dice);
  const rows = view.rows(table).filter((row) => filter.holds(row, view));
  return {
    ask: { operation: "count", table, caller: view.caller, filter: filter.text },
    statuses: refused(view, table, filter.isValid) ?? [200],
    check: ({ body }) => differs(body.count, rows.length),
  };
}

function aggregate(view: View, table: TableName, dice: Dice): Case {
  const filter = dice.once(2) ? randomFilter(table, view, dice) : null;
  const columns = columnsOf(table);
  const { name } = dice.of(columns);
  const metric = dice.of(columns.filter(({ kind }) => kind === "integer")).name;
  const hidden = isCleared(view.caller) ? undefined : withheld[table];
  const rows = view.rows(table).filter((row) => filter === null || filter.holds(row, view));
  const groups = [...Map.groupBy(rows, (row) => row[name])].map(([value, members]) => {
    const values = members.map((row) => row[metric]).filter((one) => one !== null).map(Number);
    return {
      ...{ key: { [name]: value }, count: members.length },
      sum: { [metric]: values.length === 0 ? null : values.reduce((a, b) => a + b) },
      min: { [metric]: values.length === 0 ? null : Math.min(...values) },
    };
  });
  const asc = (list: readonly unknown[]) => list.map((one) => sorted(one)).toSorted();
  return {
    ask: {
      ...{ operation: "aggregate", table, caller: view.caller },
      ...(filter === null ? {} : { filter: filter.text }),
      query: { groupBy: name, sum: metric, min: metric, count: "true" },
    },
    statuses: refused(
      view,
      table,
      (filter?.isValid ?? true) && ![name, metric].includes(hidden ?? "-"),
    ) ?? [200],
    check: ({ body }) => differs(asc(body.groups), asc(groups)),
  };
}

function search(view: View, dice: Dice): Case {
  const word = dice.of(["alpha", "beta", "gamma"]);
  const filter = dice.once(2) ? randomFilter("tasks", view, dice) : null;
  const rows = view.rows("tasks").filter((row) =>
    String(row["title"]).includes(word) && (filter === null || filter.holds(row, view))
  );
  const ids = (list: readonly Row[]) => list.map(({ id }) => Number(id)).toSorted((a, b) => a - b);
  return {
    ask: {
      ...{ operation: "search", table: "tasks", caller: view.caller },
      ...(filter === null ? {} : { filter: filter.text }),
      query: { q: word, limit: "50" },
    },
    statuses: refused(view, "tasks", filter?.isValid ?? true) ?? [200],
    check: ({ body }) =>
      (body.items.length < 20 ? differs(ids(body.items), ids(rows)) : null) ??
        (body.total === undefined ? null : differs(body.total, rows.length)) ??
        differs(
          body.items.map((row: Row) => sorted(row)).toSorted(),
          rows.filter(({ id }) => body.items.some((one: Row) => one["id"] === id))
            .map((row) => sorted(withIncluded("tasks", row, view, []))).toSorted(),
        ),
  };
}
