import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { evaluateFilters } from "../../src/db/changes/evaluate_filters.ts";
import { createRowReader, fetchRows } from "../../src/db/rows.ts";
import { createCertifiedComparisons } from "../../src/filter/match/certified_comparisons.ts";
import { createInMemoryMatcher } from "../../src/filter/match/in_memory_matcher.ts";
import { type EqualityTerm, equalityTerms } from "../../src/filter/match/equality_terms.ts";
import { allRows, and, comparison, type Filter, noRows, or } from "../../src/filter/filter.ts";
import { hasDanglingEscape } from "../../src/filter/operators/like_pattern.ts";
import type { Operator } from "../../src/filter/operators/operator.ts";
import {
  builtInOperators,
  createOperatorRegistry,
  equalOperator,
} from "../../src/filter/operators/operator_registry.ts";
import { printFilter } from "../../src/filter/syntax/print_filter.ts";
import { attachStoredForms } from "../../src/filter/match/row_matches.ts";
import { keyOf } from "../../src/plan/key.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { InvalidValue } from "../../src/schema/kind.ts";
import { isDocument, kindOfColumn } from "../../src/schema/structured/structured_value.ts";
import { type Relation, relationStep } from "../../src/schema/relation.ts";
import type { ColumnInfo, TableInfo } from "../../src/schema/table_info.ts";
import { canonicalValueText } from "../../src/schema/exact_json.ts";
import { sql } from "../../src/sql/fragment.ts";
import { edgeValues, nastyTexts, openFilterWorld, things } from "../invariants/filter_worlds.ts";
import { engines } from "../support/engines.ts";
import { insertRows, testOnDialects } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";
import type { Database } from "../../src/db/database.ts";
import { repeats } from "../support/repeats.ts";

// A failure is found again by `SEED=… deno task test tests/db/evaluate_filters_test.ts`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);

testOnDialects(
  `the database and memory evaluate images of our own rows as a list does, seed ${seed}`,
  async (engine) => {
    const info = tableInfoOf(things);
    const rows = fc.sample(
      fc.record(Object.fromEntries(info.columns.map((column) => [
        column.name,
        fc.option(fc.constantFrom(...edgeValues[column.kind]), { freq: 5 }),
      ]))),
      { seed, numRuns: 130 },
    ).map((row, id) => ({ ...row, id }));
    await using world = await openFilterWorld(engine, rows);
    await requireEqualAnswers(
      world.db,
      info,
      [],
      fc.sample(filterOf(info), { seed, numRuns: repeats(700) }),
    );
  },
);

testOnDialects(
  `the database and memory evaluate images of rows of existing tables as a list does, seed ${seed}`,
  async (engine) => {
    const db = await engine.open();
    try {
      await runScript(
        db.driver,
        engine.name.includes("sqlite") ? foreign.sqlite : foreign.postgres,
      );
      const tables = (await db.introspect()).tables;
      const oddities = tables.find(({ name }) => name === "oddities")!;
      await requireEqualAnswers(db, oddities, joins(oddities), [
        ...fc.sample(filterOf(oddities), { seed, numRuns: repeats(1_500) }),
      ]);
    } finally {
      await db.close();
    }
  },
);

testOnDialects("images are evaluated with the related rows of now", async (engine) => {
  const db = await engine.open();
  try {
    const people = table("people", {
      id: integer().primaryKey(),
      name: text().notNull(),
      bossId: integer().as("boss_id"),
    });
    const info = tableInfoOf(people);
    const [id, name, bossId] = info.columns as [ColumnInfo, ColumnInfo, ColumnInfo];
    await db.createTables([people]);
    await insertRows(db, people, [{ id: 1, name: "ada", bossId: null }]);
    const boss: Relation = {
      ...{ name: "boss", owner: info, target: info, type: "belongsTo", filterable: true },
      ...{ toMany: false, steps: [relationStep(info, [{ own: bossId, other: id }])] },
    };
    const reports: Relation = {
      ...{ name: "reports", owner: info, target: info, type: "hasMany", filterable: true },
      ...{ toMany: true, steps: [relationStep(info, [{ own: id, other: bossId }])] },
    };
    const named = (value: string) => comparison(equalOperator, name, [value]);
    const filters: Filter[] = [
      { kind: "related", relation: boss, filter: named("ada"), links: allRows },
      { kind: "related", relation: reports, filter: named("bob"), links: allRows },
      named("bob"),
      {
        kind: "related",
        relation: boss,
        filter: { kind: "related", relation: boss, filter: allRows, links: allRows },
        links: allRows,
      },
    ];
    const gone = { id: 7, name: "bob", bossId: 1 };
    const evaluate = () =>
      evaluateFilters(db.driver, db.dialect, {
        table: info,
        images: [{ row: gone }, { row: { ...gone, id: 1, bossId: 2 } }],
        filters,
      });
    assertEquals(await evaluate(), [[true, false, true, false], [false, false, true, false]]);
    await insertRows(db, people, [{ id: 2, name: "bob", bossId: 1 }]);
    assertEquals(await evaluate(), [[true, false, true, false], [false, true, true, true]]);
  } finally {
    await db.close();
  }
});

testOnDialects("a hundred thousand results take few statements", async (engine) => {
  await using world = await openFilterWorld(engine, []);
  const info = tableInfoOf(things);
  const id = info.byName.get("id")!;
  const images = Array.from({ length: 300 }, (_, at) => ({ row: { id: at } }));
  const filters = Array.from({ length: 400 }, (_, at) => comparison(equalOperator, id, [at]));
  let statements = 0;
  const counted: typeof world.db.driver.query = (statement) => {
    statements++;
    return world.db.driver.query(statement);
  };
  const answers = await evaluateFilters({ query: counted }, world.db.dialect, {
    table: info,
    images,
    filters,
  });
  assertEquals(answers.flat().filter(Boolean).length, 300);
  assertEquals(answers.every((row, at) => row[at]), true);
  assertEquals(statements, engine.name.includes("sqlite") ? 3 * 4 : 4);
});

for (const engine of engines.filter(({ name }) => name.includes("sqlite"))) {
  Deno.test(`bytes that read like a text are evaluated as bytes (${engine.name})`, async () => {
    await using world = await openFilterWorld(engine, []);
    const info = tableInfoOf(things);
    const name = info.byName.get("name")!;
    const filters = ["YQ==", "a"].map((value) => comparison(equalOperator, name, [value]));
    const images = [{ row: { id: 1, name: "YQ==" } }, { row: { id: 1, name: "YQ==" } }];
    attachStoredForms(images[1]!.row, [new Uint8Array([97])], [name], world.db.dialect);
    assertEquals(
      await evaluateFilters(world.db.driver, world.db.dialect, { table: info, images, filters }),
      [[true, false], [false, false]],
    );
  });
}

for (const engine of engines.filter(({ name }) => name.includes("sqlite"))) {
  Deno.test(`a text with a NUL, of another program, is evaluated, too (${engine.name})`, async () => {
    await using world = await openFilterWorld(engine, []);
    const info = tableInfoOf(things);
    const name = info.byName.get("name")!;
    const filters = ["a", "b"].map((value) => comparison(equalOperator, name, [value]));
    const images = [{ row: { id: 1, name: "a\0b" } }, { row: { id: 2, name: "b" } }];
    assertEquals(
      await evaluateFilters(world.db.driver, world.db.dialect, { table: info, images, filters }),
      [[false, false], [false, true]],
    );
  });
}

/** Every row of the table, as an image, must have the answer that a list gives for the row. */
async function requireEqualAnswers(
  db: Database,
  info: TableInfo,
  relations: readonly Relation[],
  filters: readonly Filter[],
): Promise<void> {
  const reader = createRowReader(db.dialect, () => {});
  const list = (where: Filter) =>
    fetchRows(db.driver, {
      ...{ kind: "read", table: info, columns: info.columns, where, limit: 10_000, after: null },
      order: info.primaryKey.map((column) => ({ column, descending: false })),
    }, reader);
  const evaluated = filters.map((filter, index) => withJoin(filter, relations, index));
  const { rows, stored } = await list(allRows);
  rows.forEach((row, at) => attachStoredForms(row, stored[at]!, info.columns, db.dialect));
  const images = rows.map((row) => ({ row }));
  const answers = await evaluateFilters(db.driver, db.dialect, {
    table: info,
    images,
    filters: evaluated,
  });
  const certification = createCertifiedComparisons(db.dialect);
  let decided = 0;
  for (const [index, filter] of evaluated.entries()) {
    const listed = (await list(filter)).rows.map((row) => keyOf(row, info));
    const answered = rows.filter((_, row) => answers[row]![index]).map((row) => keyOf(row, info));
    assertEquals(answered, listed, printFilter(filter));
    const decide = createInMemoryMatcher(filter, certification);
    const terms = equalityTerms(filter, certification.isCertain);
    images.forEach((image, row) => {
      const inMemory = decide(image);
      if (inMemory === null) return;
      decided++;
      const answer = answers[row]![index];
      assertEquals(inMemory, answer, `${printFilter(filter)} of ${Deno.inspect(image.row)}`);
      if (!answer || terms === null) return;
      const has = ({ column, value }: EqualityTerm) =>
        canonicalValueText(image.row[column.name], column) === canonicalValueText(value, column);
      assertEquals(terms.some(has), true, `a term of ${printFilter(filter)}`);
    });
  }
  assertEquals(decided > rows.length * evaluated.length / 8, true, "memory evaluates a good part");
}

function withJoin(filter: Filter, relations: readonly Relation[], index: number): Filter {
  const relation = relations[index % (relations.length * 4)];
  return relation === undefined ? filter : { kind: "related", relation, filter, links: allRows };
}

/** Texts joined with texts: SQLite converts on the way, Postgres joins equal types alone. */
function joins(info: TableInfo): Relation[] {
  const texts = info.columns.filter(({ kind }) => kind === "text");
  return texts.map((own, index) => {
    const another = texts[index * 3 % texts.length]!;
    const other = another.existingType === own.existingType || own.existingType === "STRING"
      ? another
      : own;
    return {
      ...{ name: own.name, owner: info, target: info, type: "belongsTo", filterable: true },
      ...{ toMany: false, steps: [relationStep(info, [{ own, other }])] },
    };
  });
}

function filterOf(info: TableInfo): fc.Arbitrary<Filter> {
  const leaf: fc.Arbitrary<Filter> = fc.constantFrom(
    ...info.columns.flatMap((column) =>
      [...builtInOperators, custom].filter((operator) => operator.accepts(column))
        .map((operator) => [column, operator] as const)
    ),
  ).chain(([column, operator]) =>
    resolveUnchanged(column, operator).map((values) => comparison(operator, column, values))
  );
  return fc.oneof(
    { weight: 20, arbitrary: leaf },
    {
      weight: 3,
      arbitrary: fc.array(leaf, { minLength: 2, maxLength: 3 }).map((all) => or(...all)),
    },
    {
      weight: 3,
      arbitrary: fc.array(leaf, { minLength: 2, maxLength: 3 }).map((all) => and(...all)),
    },
    { weight: 1, arbitrary: fc.constantFrom(allRows, noRows) },
  );
}

const custom: Operator = createOperatorRegistry({
  "=same=": {
    toSql: (_column, [value = ""]) => sql`${value} = ${"x"} OR 1 = 0`,
    matches: (_value, [value]) => value === "x",
  },
}).get("=same=")!;

const literals: readonly string[] = [
  ...["5", "05", "5.0", "5x", "10", "-1", "!", "a", "A", "b", "B", "abc", "ABC", "a  ", " a", ""],
  ...["é", "É", "ß", "true", "0", "1", "0.1", "0.10000000149011612", "9.50", "1e3", "2", "{1,2}"],
  ...["2024-01-01", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.5Z", "9007199254740993", "red"],
  ...["550e8400-e29b-41d4-a716-446655440000", "10.0.0.1/32", "0.30000000000000004"],
];

/** The database refuses other texts. */
const valuesOfTypes: Readonly<Record<string, readonly string[]>> = {
  inet: ["10.0.0.1", "10.0.0.1/32", "10.0.0.0/8", "9.0.0.1", "::1", "0::1", "10.0.0.1/24"],
  "integer[]": ["[1,2]", "[]", "[null]", "[5]", "[[5]]", "[-1]"],
};

function resolveUnchanged(column: ColumnInfo, { takes }: Operator): fc.Arbitrary<unknown[]> {
  const texts = fc.constantFrom(...literals, ...nastyTexts.slice(0, 60));
  const ofType = valuesOfTypes[column.existingType ?? ""];
  const own = (ofType ?? [...edgeValues[column.kind], ...literals]).flatMap((value) => {
    try {
      return [
        kindOfColumn(column).fromText(String(value), { ...column, scale: null, precision: null }),
      ];
    } catch (error) {
      if (error instanceof InvalidValue) return [];
      throw error;
    }
  });
  const typed = fc.constantFrom(...own);
  const items = isDocument(column)
    ? fc.constantFrom<unknown>("a", true, { number: "5" }, { number: "1" })
    : fc.constantFrom<unknown>(1, 2, 5);
  switch (takes) {
    case "value":
      return fc.tuple(typed);
    case "pair":
      return fc.tuple(typed, typed);
    case "list":
      return fc.array(typed, { minLength: 1, maxLength: 4 });
    case "text":
    case "texts":
    case "query":
      return fc.tuple(texts);
    case "pattern":
      return fc.tuple(texts.filter((text) => !hasDanglingEscape(text)));
    case "item":
      return fc.tuple(items);
    case "items":
      return fc.array(items, { minLength: 1, maxLength: 3 });
    case "flag":
      return fc.tuple(fc.boolean());
    case "count":
      return fc.tuple(fc.nat({ max: 6 }));
  }
}

// Columns in which an engine compares in its own way, with values that show it.
const foreign = {
  sqlite: `CREATE TABLE oddities (
    id INTEGER PRIMARY KEY,
    bare TEXT,
    loose TEXT COLLATE NOCASE,
    trimmed VARCHAR(20) COLLATE RTRIM,
    word STRING,
    count INTEGER,
    half REAL,
    price DECIMAL(10,2),
    ok BOOLEAN,
    day DATE,
    at DATETIME,
    code UUID COLLATE NOCASE,
    anything,
    file BLOB,
    data JSON);
  INSERT INTO oddities (id, bare, loose, trimmed, word, count, half, price, ok, day, at, code,
    anything, file, data) VALUES
    (1, 'a', 'a', 'a', 'a', 5, 0.1, 9.5, 1, '2024-01-01', '2024-01-01 00:00:00',
      '550e8400-e29b-41d4-a716-446655440000', 5, x'00', '{"a":1}'),
    (2, 'A', 'A', 'A  ', '05', 'abc', 5, 'abc', 0, 'soon', '2024-01-01 00:00:00.500',
      '550E8400-E29B-41D4-A716-446655440000', '5', 'text', 5),
    (3, '5', '5', ' a', '5x', 1.5, 'x', 0.1, 2, '2024-02-30', '1969-12-31 23:59:59',
      'nothing', 0.1, NULL, NULL),
    (4, NULL, 'É', 'é', '!', 9007199254740993, 1e300, 1e15, 'yes', NULL, NULL, NULL, x'61', '5', '[]'),
    (5, '05', '05', '', 'abc', -1, 0.30000000000000004, -1, NULL, '0001-01-01',
      '2024-01-01 00:00:00', NULL, 'a', x'61', 'null'),
    (6, '', '', 'a  ', NULL, 10, NULL, 10, 1, '9999-12-31', '2024-01-02 00:00:00', NULL, NULL,
      x'', '"x"')`,
  postgres: `CREATE TYPE hue AS ENUM ('red', 'green', 'blue');
  CREATE COLLATION ignoring (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  CREATE COLLATION natural_order (provider = icu, locale = 'en-u-kn-true');
  CREATE DOMAIN name_of AS text NOT NULL CHECK (length(VALUE) < 50);
  CREATE TABLE oddities (
    id int PRIMARY KEY,
    bare text,
    loose text COLLATE ignoring,
    ordered text COLLATE natural_order,
    padded char(4),
    short varchar(4),
    named name_of,
    color hue,
    address inet,
    list int[],
    small smallint,
    half real,
    double double precision,
    price numeric(10,2),
    free numeric,
    ok boolean,
    day date,
    at timestamp,
    seen timestamptz(3),
    code uuid,
    file bytea,
    data json,
    doubled int GENERATED ALWAYS AS (id * 2) STORED);
  INSERT INTO oddities (id, bare, loose, ordered, padded, short, named, color, address, list, small,
    half, double, price, free, ok, day, at, seen, code, file, data) VALUES
    (1, 'a', 'a', 'a', 'a', 'a', 'a', 'red', '10.0.0.1', '{1,2}', 5, 0.1, 0.1, 9.5, 0.1, true,
      '2024-01-01', '2024-01-01', '2024-01-01', '550e8400-e29b-41d4-a716-446655440000', '\\x00', '{"a":1}'),
    (2, 'A', 'A', 'A', 'A', 'A', 'A', 'blue', '10.0.0.0/8', '{}', -1, 'NaN', 'NaN', 0.1, 'NaN', false,
      'infinity', 'infinity', '-infinity', NULL, '\\x', '[]'),
    (3, '5', '5', '10', 'ab', '', '', 'green', NULL, '{NULL}', NULL, 'Infinity', 1e300, -1, 1e15, NULL,
      '0044-03-15 BC', '2024-01-01 00:00:00.5', '2024-01-01 00:00:00.5+00', NULL, '\\x61', '5'),
    (4, NULL, 'É', '5', '', 'abc', 'é', NULL, '::1', NULL, 1, 1e-40, 0.30000000000000004, NULL, 0.30,
      true, NULL, NULL, NULL, 'ffffffff-ffff-ffff-ffff-ffffffffffff', NULL, NULL),
    (5, '', 'é', 'ABC', 'ABC', 'ABC', 'ß', 'red', '10.0.0.1/24', '{5}', 2, 2, 2, 2, 0.300, false,
      '1969-12-31', '1969-12-31 23:59:59.999999', '2024-02-29', NULL, '\\xff', '"x"')`,
};
