import type { Dice } from "./dice.ts";
import { roles, secretOf, statuses, users } from "./fill.ts";
import { isCleared, withheld } from "./oracle.ts";
import { type Relation, relationsOf, type View } from "./related.ts";
import { columnsOf, type Row } from "./state.ts";
import type { TableName } from "./tables.ts";

/** A filter of a request, and the same filter in plain code. */
export interface Filter {
  readonly text: string;
  /** Evaluates the filter for a row that the caller may read. */
  readonly holds: (row: Row, view: View) => boolean;
  /** False if the filter has a field that is hidden from the caller, which causes a 400. */
  readonly isValid: boolean;
}

const roleNames = roles.filter((role) => role !== null);
const statusNames = statuses.filter((status) => status !== null);

function literals(table: TableName, column: string, kind: string, dice: Dice): string {
  if (kind === "boolean") return dice.of(["true", "false"]);
  if (column === "role") return dice.of(roleNames);
  if (column === "status") return dice.of(statusNames);
  if (column === "secret") return `'${secretOf(1 + dice.below(24))}'`;
  if (column === "budget") return String(7_000_000 + dice.below(9));
  if (kind === "text") {
    return /Id$/.test(column) ? dice.of(users) : dice.of(["alpha", "beta", `'${table}#1 alpha'`]);
  }
  return String(dice.below(14));
}

const plain = (text: string, kind: string): unknown =>
  kind === "boolean" ? text === "true" : kind === "text" ? text.replaceAll("'", "") : Number(text);

type Comparison = (value: never, given: never) => boolean;
const comparisons: Readonly<Record<string, Comparison>> = {
  "==": (value: unknown, given: unknown) => value === given,
  "!=": (value: unknown, given: unknown) => value !== given,
  ">": (value: number, given: number) => value > given,
  "<=": (value: number, given: number) => value <= given,
  "=contains=": (value: string, given: string) => value.includes(given),
};

/** Draws a comparison of one column. */
function compared(table: TableName, view: View, dice: Dice): Filter {
  const { name, kind } = dice.of(columnsOf(table));
  const isHidden = withheld[table] === name;
  // Hidden columns are rare, because they make the whole filter invalid.
  if (isHidden && !isCleared(view.caller) && !dice.once(12)) return compared(table, view, dice);
  const isValid = !isHidden || isCleared(view.caller);
  if (dice.once(6)) {
    const isNull = dice.once(2);
    const text = dice.once(2) ? `${name}=isnull=${isNull}` : `${name}${isNull ? "==" : "!="}null`;
    return { text, isValid, holds: (row) => (row[name] === null) === isNull };
  }
  const given = literals(table, name, kind, dice);
  if (dice.once(6)) {
    const list = [given, literals(table, name, kind, dice)];
    const values = list.map((text) => plain(text, kind));
    const isIn = dice.once(2);
    return {
      text: `${name}=${isIn ? "in" : "out"}=(${list.join(",")})`,
      isValid,
      holds: (row) => row[name] !== null && values.includes(row[name]) === isIn,
    };
  }
  const symbol = dice.of(
    kind === "boolean"
      ? ["==", "!="]
      : kind === "text"
      ? ["==", "!=", "=contains=", "=contains="]
      : ["==", "!=", ">", "<="],
  );
  const value = plain(given, kind);
  return {
    text: `${name}${symbol}${given}`,
    isValid,
    // The values of a column and of its literals are of one kind.
    holds: (row) => row[name] !== null && comparisons[symbol]!(row[name] as never, value as never),
  };
}

/** Draws a filter without relations, as batches accept it. */
export function plainFilter(table: TableName, view: View, dice: Dice): Filter {
  const left = compared(table, view, dice);
  if (dice.once(3)) return left;
  return joined([left, compared(table, view, dice)], dice);
}

function joined(parts: readonly Filter[], dice: Dice): Filter {
  const isAnd = dice.once(2);
  const texts = parts.map(({ text }) => isAnd ? `(${text})` : text);
  return {
    text: texts.join(isAnd ? ";" : ","),
    isValid: parts.every(({ isValid }) => isValid),
    holds: (row, view) =>
      isAnd
        ? parts.every(({ holds }) => holds(row, view))
        : parts.some(({ holds }) => holds(row, view)),
  };
}

interface Walk {
  readonly names: string;
  readonly path: readonly Relation[];
  readonly table: TableName;
}

function walk(table: TableName, steps: number, dice: Dice): Walk {
  const names: string[] = [];
  const path: Relation[] = [];
  let at = table;
  for (let left = steps; left > 0; left--) {
    const [name, relation] = dice.of(Object.entries(relationsOf[at]));
    names.push(name);
    path.push(relation);
    at = relation.to;
  }
  return { names: names.join("."), path, table: at };
}

/** Draws a filter along at most `steps` relations, within the limits of a request. */
export function randomFilter(table: TableName, view: View, dice: Dice, steps = 3): Filter {
  for (;;) {
    const filter = anyFilter(table, view, dice, steps);
    const walks = filter.text.match(/[a-zA-Z]\.[a-zA-Z]/g)?.length ?? 0;
    let [depth, deepest] = [0, 0];
    for (const letter of filter.text) {
      depth += letter === "(" ? 1 : letter === ")" ? -1 : 0;
      deepest = Math.max(deepest, depth);
    }
    if (walks <= 16 && deepest <= 9 && filter.text.length < 600) return filter;
  }
}

function anyFilter(table: TableName, view: View, dice: Dice, steps: number): Filter {
  const kind = dice.below(10);
  if (kind < 2 || steps === 0) return compared(table, view, dice);
  if (kind < 4) {
    const parts = [0, 1, 2].slice(dice.below(2)).map(() => anyFilter(table, view, dice, steps));
    return joined(parts, dice);
  }
  if (kind < 5) {
    const inner = anyFilter(table, view, dice, steps);
    return {
      text: `not(${inner.text})`,
      isValid: inner.isValid,
      holds: (row, view) => !inner.holds(row, view),
    };
  }
  const taken = 1 + dice.below(Math.min(steps, 2));
  const { names, path, table: end } = walk(table, taken, dice);
  if (kind < 7) {
    const inner = compared(end, view, dice);
    return {
      text: `${names}.${inner.text}`,
      isValid: inner.isValid,
      holds: (row, view) => view.reached(row, path).some((one) => inner.holds(one, view)),
    };
  }
  return quantified(names, path, anyFilter(end, view, dice, steps - taken), dice);
}

function quantified(names: string, path: readonly Relation[], inner: Filter, dice: Dice): Filter {
  const word = dice.of(["some", "none", "every"] as const);
  const isEmpty = word !== "every" && dice.once(8);
  return {
    text: `${names}.${word}(${isEmpty ? "" : inner.text})`,
    isValid: isEmpty || inner.isValid,
    holds: (row, view) => {
      const rows = view.reached(row, path);
      const passing = rows.filter((one) => isEmpty || inner.holds(one, view)).length;
      if (word === "some") return passing > 0;
      return passing === (word === "none" ? 0 : rows.length);
    },
  };
}
