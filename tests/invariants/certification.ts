import { compileFilter } from "../../src/compile/where.ts";
import { createRowReader, fetchRows } from "../../src/db/rows.ts";
import { cellClassOf } from "../../src/filter/match/certified_comparisons.ts";
import { allRows, type Comparison, comparison } from "../../src/filter/filter.ts";
import { hasDanglingEscape } from "../../src/filter/operators/like_pattern.ts";
import { attachStoredForms, rowMatches, storedForm } from "../../src/filter/match/row_matches.ts";
import type { Operator } from "../../src/filter/operators/operator.ts";
import { builtInOperators, listOperators } from "../../src/filter/operators/operator_registry.ts";
import {
  bigint,
  boolean,
  bytes,
  date,
  decimal,
  integer,
  json,
  real,
  text,
  timestamp,
  uuid,
} from "../../src/schema/column_builder.ts";
import { chunksOf } from "../../src/plan/key.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { fitsKind } from "../../src/schema/kinds/fits_kind.ts";
import { kinds } from "../../src/schema/kind_of.ts";
import type { ColumnInfo, Row } from "../../src/schema/table_info.ts";
import type { ColumnKind } from "../../src/schema/kind.ts";
import type { CellClass, Engine as EngineFamily } from "../../src/sql/dialect.ts";
import { join, sql, toStatement } from "../../src/sql/fragment.ts";
import type { Engine } from "../support/engines.ts";
import { insertRows } from "../support/http.ts";
import { edgeValues, nastyTexts } from "./filter_worlds.ts";

/** The result of comparing memory with one engine, for each class and operator. */
export interface Certification {
  /** The engine of the database, by which the operators are listed. */
  readonly family: EngineFamily;
  /** How many comparisons there were. */
  readonly checks: number;
  /** The operators of each class that agreed on everything, by symbol, in order. */
  readonly agreed: ReadonlyMap<CellClass, readonly string[]>;
  /** The first disagreement of each of the others. */
  readonly disagreed: ReadonlyMap<string, string>;
}

/** Evaluates every operator and argument on every value of a corpus, in the database and in memory. */
export async function certify(engine: Engine): Promise<Certification> {
  const db = await engine.open();
  try {
    await db.createTables([cells]);
    const info = tableInfoOf(cells);
    const rows = corpusRows(info.columns.slice(1));
    await insertRows(db, cells, rows);
    const reader = createRowReader(db.dialect, () => {});
    const { columns } = info;
    const order = [{ column: columns[0]!, descending: false }];
    const plan = { kind: "read", table: info, columns, where: allRows, order } as const;
    const stored = await fetchRows(db.driver, { ...plan, after: null, limit: 10_000 }, reader);
    stored.rows.forEach((row, at) =>
      attachStoredForms(row, stored.stored[at]!, columns, db.dialect)
    );
    const counts = new Counts();
    for (const part of chunksOf(columns.slice(1).flatMap(comparisonsOf), 250)) {
      const truths = part.map((filter) => sql`(${compileFilter(filter, db.dialect)}) IS TRUE`);
      const query = sql`SELECT ${join(truths, ", ")} FROM "cells" ORDER BY "id"`;
      const answers = await db.driver.query(toStatement(query, db.dialect.placeholder));
      answers.rows.forEach((answer, at) => {
        const row = stored.rows[at]!;
        part.forEach((filter, index) => {
          const value = row[filter.column.name];
          // For the other rows the database evaluates every filter.
          if (!fitsKind(value, filter.column)) return;
          if (storedForm(row, filter.column) !== undefined) return;
          counts.add(filter, value, rowMatches(filter, row), [1, "t"].includes(answer[index] as 1));
        });
      });
    }
    return counts.certification(db.dialect.engine);
  } finally {
    await db.close();
  }
}

/**
 * A column of each kind, which the compiler asks for. Of the two decimals one stores the digits of
 * each value, and the other has a scale.
 */
const cells = table(
  "cells",
  {
    id: integer().primaryKey(),
    text: text(),
    integer: integer(),
    bigint: bigint(),
    real: real(),
    decimal: decimal(),
    price: decimal({ precision: 14, scale: 2 }),
    boolean: boolean(),
    timestamp: timestamp(),
    date: date(),
    uuid: uuid(),
    json: json(),
    bytes: bytes(),
  } satisfies Record<ColumnKind | "id" | "price", unknown>,
);

const corpus: Readonly<Record<ColumnKind, readonly unknown[]>> = {
  ...edgeValues,
  text: [
    ...nastyTexts,
    ...[
      "\u0301",
      "a\u0301\u0323",
      "a\u0323\u0301",
      "\ud55c",
      "\u1112\u1161\u11ab",
      "\uff5e",
      "\ufb03",
    ],
    ...["\u{1d400}", "\u{20000}", "\u{e0041}", "\u{f0000}", "x".repeat(300), "é".repeat(300)],
    ...["Straße", "STRASSE", "İstanbul", "istanbul", "Iıİi", "ΌΣΟΣ", "\u03c3\u0301", "1e3", "0x10"],
    ...["9007199254740993", "2024-01-01", "100%", "a__", "%%", "\\\\", "\r\n", "\u2028", "a\ufeff"],
  ],
  real: [
    ...edgeValues.real,
    ...[0.1 + 0.2, 0.3, 1 / 3, -1e-300, 1.7976931348623157e308, 2 ** 53 + 2, 2 ** 63, -(2 ** 63)],
    ...[2.2250738585072014e-308, 123456789.12345678, 1e22, 1e23, 4.35, 1.005, -0.1],
  ],
  decimal: [
    ...edgeValues.decimal,
    ...["0.1", "0.3", "0.30000000000000004", "0.3000000000000000444", "1.005", "1.00", "-0.1"],
    ...["9007199254740993", "9007199254740992", "123456789012345678", "12345678901234567890"],
    ...["0.000000000000001", "999999999999999", "1000000000000000", "0.1234567890123456789"],
    ...["1" + "0".repeat(300), "0." + "0".repeat(320) + "1", "7".repeat(400), "-" + "7".repeat(40)],
  ],
  timestamp: [
    ...edgeValues.timestamp,
    ...["2024-01-01T00:00:00.1Z", "2024-01-01T00:00:00.100001Z", "1970-01-01T00:00:00Z"],
    ...["1969-12-31T23:59:59.999999Z", "2016-12-31T23:59:59.999999Z", "2024-03-31T01:30:00+01:00"],
    ...["0001-01-01T00:00:00.000001Z", "1582-10-10T00:00:00Z", "2038-01-19T03:14:08Z"],
  ],
  date: [...edgeValues.date, "1582-10-10", "1900-02-28", "2000-02-29", "0999-12-31", "1000-01-01"],
  uuid: [
    ...edgeValues.uuid,
    ...["00000000-0000-0000-0000-00000000000a", "a0000000-0000-0000-0000-000000000000"],
    ...["9fffffff-0000-4000-8000-000000000000", "7fffffff-ffff-ffff-ffff-ffffffffffff"],
  ],
};

/** One row for each value of the longest corpus; shorter ones repeat, and each has a NULL. */
function corpusRows(columns: readonly ColumnInfo[]): Row[] {
  const values = columns.map((column) => [null, ...corpus[column.kind].flatMap(typed(column))]);
  const count = Math.max(...values.map((all) => all.length));
  return Array.from({ length: count }, (_, id) =>
    Object.fromEntries([
      ["id", id],
      ...columns.map((column, at) => [column.name, values[at]![id % values[at]!.length]]),
    ]));
}

/** The value as the kind has it; nothing where the column takes fewer digits. */
function typed(column: ColumnInfo): (value: unknown) => unknown[] {
  return (value) => {
    try {
      return [kinds[column.kind].fromJson(value, column)];
    } catch {
      return [];
    }
  };
}

function comparisonsOf(column: ColumnInfo): Comparison[] {
  // The database alone looks into lists.
  return builtInOperators.filter((operator) => !listOperators.includes(operator))
    .filter((operator) => operator.accepts(column))
    .flatMap((operator) =>
      argumentsOf(operator, column).map((values) => comparison(operator, column, values))
    );
}

function argumentsOf({ takes }: Operator, column: ColumnInfo): readonly (readonly unknown[])[] {
  const values = corpus[column.kind].flatMap(typed(column));
  const other = (index: number) => values[index % values.length];
  switch (takes) {
    case "flag":
      return [[true], [false]];
    case "count":
      return [0, 1, 2, 3, 9, 300, 0x7fffffff].map((count) => [count]);
    case "pair":
      return values.flatMap((value, at) =>
        [0, 1, 3, 7, 20].flatMap((step) => [[value, other(at + step)], [other(at + step), value]])
      );
    case "list":
      return values.flatMap((value, at) => [[value], [value, other(at + 1), other(at * 7)]]);
    case "pattern":
      return corpus.text.map(String)
        .flatMap((text) => [text, `%${text}`, `${text}%`, `%${text}%`, `_${text}%`, `%${text}_%`])
        .filter((pattern) => !hasDanglingEscape(pattern) && pattern.length < 100)
        .map((pattern) => [pattern]);
    default:
      return values.map((value) => [value]);
  }
}

/** Which cells have agreed so far. */
class Counts {
  #checks = 0;
  readonly #classes = new Map<CellClass, Set<string>>();
  readonly #disagreed = new Map<string, string>();

  add(filter: Comparison, value: unknown, inMemory: boolean, inDatabase: boolean): void {
    this.#checks++;
    const cell = cellClassOf(filter);
    const symbol = filter.operator.symbols[0];
    const symbols = this.#classes.get(cell) ?? new Set();
    this.#classes.set(cell, symbols.add(symbol));
    const name = `${cell} ${symbol}`;
    if (inMemory === inDatabase || this.#disagreed.has(name)) return;
    const what = `${String(value)} ${symbol} ${filter.values.map(String).join(" ")}`;
    this.#disagreed.set(name, `${what}: ${inDatabase} in the database`);
  }

  certification(family: EngineFamily): Certification {
    const agreed = [...this.#classes].map(([cell, symbols]) =>
      [cell, [...symbols].filter((symbol) => !this.#disagreed.has(`${cell} ${symbol}`))] as const
    );
    return { family, checks: this.#checks, agreed: new Map(agreed), disagreed: this.#disagreed };
  }
}
