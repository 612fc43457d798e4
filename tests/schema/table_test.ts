import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  bigint,
  boolean,
  bytes,
  date,
  decimal,
  integer,
  json,
  type NewColumn,
  real,
  text,
  timestamp,
  uuid,
} from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import {
  columnInfoOf,
  type ColumnLike,
  tableInfoOf,
  type TableLike,
} from "../../src/schema/table_like.ts";

const people = table("people", {
  id: integer().primaryKey(),
  name: text().notNull(),
  managerId: integer().as("manager_id").references((): ColumnLike<unknown> => people.id),
});

const notes = table("notes", {
  id: text().primaryKey(),
  authorId: integer().notNull().as("author_id").references(() => people.id),
  status: text({ enum: ["draft", "done"] }).notNull().default("draft"),
  rank: integer(),
  price: decimal({ precision: 10, scale: 2 }).default("0.5"),
  tags: json<string[]>().notNull().default(() => []),
  at: timestamp().default("2024-01-01T01:00:00+01:00"),
});

Deno.test("a table's description follows from its builders", () => {
  const info = tableInfoOf(notes);
  assertEquals(info.name, "notes");
  assertEquals(info.columns.map((column) => column.name), Object.keys(notes));
  assertEquals(info.primaryKey.map((column) => column.name), ["id"]);
  assertEquals(info.byName.get("authorId")?.dbName, "author_id");
  assertEquals(info.byName.get("status")?.enumValues, ["draft", "done"]);
  assertEquals(info.byName.get("constructor"), undefined);
  assert(Object.isFrozen(notes) && Object.isFrozen(info) && Object.isFrozen(info.columns[0]));
});

Deno.test("a column has the description of its table and belongs to no other", () => {
  const column = columnInfoOf(notes.id);
  assertStrictEquals(tableInfoOf(notes).byName.get("id"), column);
  assertStrictEquals(tableInfoOf(notes.id), tableInfoOf(notes));
  assert(tableInfoOf(people).byName.get("id") !== column);
});

Deno.test("foreign keys are resolved lazily, also to the table itself and to a later one", () => {
  const first = table("first", {
    id: integer().primaryKey(),
    next: integer().references((): ColumnLike<unknown> => second.key),
  });
  const second = table("second", { key: integer().primaryKey().as("the_key") });
  assertEquals(tableInfoOf(first).foreignKeys, [
    {
      columns: ["next"],
      ...{ schema: null, table: "second", references: ["the_key"] },
      ...{ onDelete: null, onUpdate: null },
    },
  ]);
  assertEquals(columnInfoOf(people.managerId).references, {
    schema: null,
    table: "people",
    column: "id",
  });
  assertEquals(columnInfoOf(people.id).references, null);
});

Deno.test("constant defaults take the in-process form, functions stay functions", () => {
  assertEquals(columnInfoOf(notes.price).default, { kind: "value", value: "0.50" });
  assertEquals(columnInfoOf(notes.at).default, {
    kind: "value",
    value: "2024-01-01T00:00:00.000Z",
  });
  assertEquals(columnInfoOf(notes.tags).default?.kind, "function");
});

Deno.test("the database generates only a single integer key", () => {
  const pairs = table("pairs", { a: integer().primaryKey(), b: bigint().primaryKey() });
  const profiles = table("profiles", {
    id: integer().primaryKey().references(() => people.id),
  });
  assertEquals(columnInfoOf(people.id).default, { kind: "database", sql: null });
  assertEquals(tableInfoOf(pairs).columns.map((column) => column.default), [null, null]);
  assertEquals(tableInfoOf(pairs).primaryKey.map((column) => column.name), ["a", "b"]);
  assertEquals(columnInfoOf(profiles.id).default, null);
});

Deno.test("columns may have the names of an object's inherited members", () => {
  const odd = table("odd", {
    name: text().primaryKey(),
    as: text(),
    default: text(),
    constructor: text(),
    toString: text(),
    then: text(),
    table: text(),
    _: text(),
    length: text(),
    ["__proto__"]: text(),
  });
  const columns: [string, ColumnLike<unknown>][] = Object.entries(odd);
  for (const [name, column] of columns) {
    assertEquals(columnInfoOf(column).name, name);
  }
  assertEquals(Object.keys(odd).length, 10);
  assertEquals(Object.getPrototypeOf(odd), null);
});

const faulty: readonly [string, () => unknown, string][] = [
  ["without a key", () => table("t", { a: text() }), "no primary key"],
  [
    "with a builder that was not called",
    () => table("t", { id: text().primaryKey(), a: text as unknown as NewColumn<string> }),
    "Cannot declare t.a: text was not called: write text()",
  ],
  [
    "with a value that is no column",
    () => table("t", { id: "TEXT" as unknown as NewColumn<string> }),
    "Cannot declare t.id: it is a string, not a column like text()",
  ],
  ["without a name", () => table("", { a: text().primaryKey() }), "without a name"],
  [
    "with the former name of a column that is still declared",
    () => table("t", { a: text().primaryKey(), b: text().was("a") }),
    'Cannot declare t.b: it was "a", which is declared as well',
  ],
  [
    "with a reserved name",
    () => table("t", { id: text().primaryKey(), $inferSelect: text() }),
    "reserved",
  ],
  [
    "with the name of the type of its name",
    () => table("t", { id: text().primaryKey(), $inferName: text() }),
    "reserved",
  ],
  [
    "with one database name for two columns",
    () => table("t", { id: text().primaryKey(), a: text(), b: text().as("A") }),
    "taken",
  ],
  [
    "with a default that does not fit",
    () => table("t", { id: text().primaryKey(), a: date().default("2024-02-30") }),
    "t.a: its default must be a date",
  ],
  ["with a scale above its precision", () => decimal({ precision: 2, scale: 3 }), "do not fit"],
  ["with an enum of nothing", () => text({ enum: [] }), "without members"],
  ["that is no table", () => tableInfoOf({} as TableLike<unknown, unknown>), "table()"],
  ["that is no column", () => columnInfoOf({} as ColumnLike<unknown>), "table()"],
  [
    "that points to nothing",
    () =>
      tableInfoOf(
        table("t", { id: text().primaryKey().references(() => ({} as ColumnLike<unknown>)) }),
      ).foreignKeys,
    "t.id references",
  ],
];

for (const [name, declare, message] of faulty) {
  Deno.test(`a declaration ${name} is refused`, () => {
    assertThrows(declare, Error, message);
  });
}

// The rest is for the compiler: `deno check` fails where a type is wrong.
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
type Flat<T> = { [Key in keyof T]: T[Key] };

Deno.test("row types follow from the builders", () => {
  const kinds = table("kinds", {
    id: bigint().primaryKey(),
    r: real(),
    b: boolean().notNull(),
    d: date().notNull().default(() => "2024-01-01"),
    u: uuid(),
    y: bytes(),
    j: json(),
  });
  const kindsSelect: Equal<
    Flat<typeof kinds.$inferSelect>,
    {
      id: string;
      r: number | null;
      b: boolean;
      d: string;
      u: string | null;
      y: string | null;
      j: unknown;
    }
  > = true;
  const select: Equal<
    Flat<typeof notes.$inferSelect>,
    {
      id: string;
      authorId: number;
      status: "draft" | "done";
      rank: number | null;
      price: string | null;
      tags: string[];
      at: string | null;
    }
  > = true;
  const insert: Equal<
    Flat<typeof notes.$inferInsert>,
    {
      id: string;
      authorId: number;
      status?: "draft" | "done" | undefined;
      rank?: number | null | undefined;
      price?: string | null | undefined;
      tags?: string[] | undefined;
      at?: string | null | undefined;
    }
  > = true;
  const countedKey: Equal<
    Flat<typeof people.$inferInsert>,
    { name: string; id?: number | undefined; managerId?: number | null | undefined }
  > = true;
  assert(kindsSelect && select && insert && countedKey);
});

Deno.test("columns are typed by their values", () => {
  const takes = <T>(_column: ColumnLike<T>, _value: NoInfer<T> | null | undefined): void => {};
  const ofNotes = (_column: ColumnLike<unknown, "notes">): void => {};
  takes(notes.status, "draft");
  takes(notes.rank, undefined);
  // @ts-expect-error "gone" is no member.
  takes(notes.status, "gone");
  // @ts-expect-error A number is no text.
  takes(notes.id, 5);
  // @ts-expect-error A text is no integer.
  takes(notes.rank, "5");
  // @ts-expect-error The table has no such column.
  assertEquals(notes.nope, undefined);
  // @ts-expect-error A default has the type of its column.
  text({ enum: ["a"] }).default("b");
  ofNotes(notes.id);
  // @ts-expect-error This is the column of another table.
  ofNotes(people.id);
});
