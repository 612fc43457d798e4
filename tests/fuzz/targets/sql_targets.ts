import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { postgresSyntax } from "../../../src/engines/postgres/sql/syntax.ts";
import { sqliteSyntax } from "../../../src/engines/sqlite/sql/syntax.ts";
import { parseSimpleView } from "../../../src/db/views/simple_view.ts";
import { normalizeSql, type SqlSyntax } from "../../../src/sql/statements/normal_sql.ts";
import { parseCreateIndex } from "../../../src/sql/statements/parse_create_index.ts";
import { parseCreateTable } from "../../../src/sql/statements/parse_create_table.ts";
import {
  isTransactionBoundary,
  splitStatements,
} from "../../../src/sql/statements/split_statements.ts";
import type { FuzzTarget } from "../engine/fuzz_target.ts";

type Parsed = ReturnType<typeof parseCreateTable>;

/** CREATE TABLE. Its columns, keys and references are those that SQLite itself reports. */
export const createTableTarget: FuzzTarget = {
  files: ["src/sql/statements/parse_create_table.ts", "src/sql/statements/normal_sql.ts"],
  // Each primary key was searched for from the first word on.
  pumps: [{ before: "CREATE TABLE t (a", piece: " PRIMARY KEY", after: ")" }],
  seeds: [
    "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT NOT NULL DEFAULT 'x' UNIQUE)",
    'CREATE TABLE "t" ("a b" VARCHAR(10, 2) COLLATE NOCASE, [c] REAL DEFAULT -1.5e3, `d` BLOB,\n' +
    '  CONSTRAINT k PRIMARY KEY ("a b" COLLATE BINARY DESC, c), CHECK (c > 1), -- x\n' +
    "  FOREIGN KEY (d) REFERENCES o (x) ON DELETE SET NULL ON UPDATE CASCADE) WITHOUT ROWID",
    "CREATE TABLE t(a, b AS (a || ')') STORED, c GENERATED ALWAYS AS (a), " +
    "d REFERENCES t(a) DEFERRABLE INITIALLY DEFERRED, UNIQUE (a, b) ON CONFLICT REPLACE) STRICT",
    "CREATE TABLE t(a INT DEFAULT (1+2) /* c */ NOT NULL ON CONFLICT FAIL, b DEFAULT x'00')",
    "CREATE TABLE t(a UNSIGNED BIG INT CONSTRAINT n NOT NULL CONSTRAINT d DEFAULT +5, b DEFAULT NULL)",
    "CREATE TABLE t(a DEFAULT CURRENT_TIMESTAMP, b 'quoted type', \"primary\" TEXT)",
  ],
  parse: (input) => parseCreateTable(input),
  isDocumented: (error) =>
    error instanceof Error && error.message.startsWith("Cannot parse a CREATE TABLE"),
  check(_, input) {
    const facts = sqliteFacts(input);
    if (facts === null) return;
    assertEquals(parsedFacts(parseCreateTable(facts.sql)), facts.found, facts.sql);
  },
};

/** Creates a table in memory, and returns what SQLite reports about it. Null if SQLite refuses. */
function sqliteFacts(statement: string) {
  // Other statements could have effects outside of memory.
  if (!/^\s*CREATE\s+TABLE\b/i.test(statement) || /\bselect\b/i.test(statement)) return null;
  const database = new DatabaseSync(":memory:");
  try {
    try {
      database.prepare(statement).run();
    } catch {
      return null;
    }
    const [table] = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
      .all();
    const { name, sql } = { name: String(table?.name), sql: String(table?.sql) };
    const rows = (pragma: string) =>
      database.prepare(`SELECT * FROM ${pragma}(?)`).all(name) as Record<string, unknown>[];
    const columns = rows("pragma_table_xinfo");
    const keys = columns.filter(({ pk }) => Number(pk) > 0)
      .sort((a, b) => Number(a.pk) - Number(b.pk));
    return {
      sql,
      found: {
        columns: columns.map(({ name }) => String(name)),
        defaults: columns.map(({ dflt_value }) => normal(dflt_value)),
        key: keys.map(({ name }) => String(name).toLowerCase()),
        references: rows("pragma_foreign_key_list").map(({ table, from, to, on_delete }) =>
          [table, from, to, on_delete].map(normal).join(" ").toLowerCase()
        ).sort(),
      },
    };
  } finally {
    database.close();
  }
}

function normal(value: unknown): string {
  return value === null ? "" : normalizeSql(String(value), sqliteSyntax);
}

function parsedFacts({ definitions }: Parsed) {
  const all = definitions.flatMap(({ constraints }) => constraints);
  const columns = definitions.flatMap(({ column }) => column ?? []);
  return {
    columns: columns.map(({ name }) => name),
    defaults: definitions.filter(({ column }) => column !== null).map(({ constraints }) =>
      normal(constraints.flatMap((one) => one.kind === "default" ? one.sql : []).at(-1) ?? null)
    ),
    key: (all.flatMap((one) => one.kind === "key" ? [one.columns] : []).at(-1) ?? []).map((name) =>
      name.toLowerCase()
    ),
    references: all.flatMap((one) => {
      if (one.kind !== "references") return [];
      const { table, columns: to, onDelete } = one.target;
      return one.columns.map((from, index) =>
        [table.at(-1), from, to?.[index] ?? null, onDelete ?? "NO ACTION"].map(normal).join(" ")
          .toLowerCase()
      );
    }).sort(),
  };
}

const indexed = ["a", "b c", "d"];

/** CREATE INDEX. It has as many parts as SQLite reports. */
export const createIndexTarget: FuzzTarget = {
  files: ["src/sql/statements/parse_create_index.ts", "src/sql/statements/normal_sql.ts"],
  // Each bracket that is not closed was searched for to the end, and each collation, too.
  pumps: [
    { before: "CREATE INDEX i ON t (", piece: "[", after: "" },
    { before: "CREATE INDEX i ON t (a", piece: " COLLATE [a", after: ")" },
  ],
  seeds: [
    'CREATE UNIQUE INDEX i ON t (a DESC, "b c" COLLATE NOCASE ASC, lower("d")) WHERE a > 1',
    "CREATE INDEX i ON t(t.a + 1, 'x)' || [b c], \"text\") WHERE d = ')' -- c",
  ],
  parse: (input) => parseCreateIndex(input, "t", indexed),
  isDocumented: () => false,
  check(_, input) {
    if (!/^\s*CREATE\s+(?:UNIQUE\s+)?INDEX\b/i.test(input) || /\bselect\b/i.test(input)) return;
    const database = new DatabaseSync(":memory:");
    try {
      database.exec(`CREATE TABLE t (a, "b c", d)`);
      try {
        database.prepare(input).run();
      } catch {
        return;
      }
      const [index] = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index'")
        .all();
      const parsed = parseCreateIndex(String(index?.sql), "t", indexed);
      const parts = database.prepare("SELECT * FROM pragma_index_xinfo(?) WHERE key")
        .all(String(index?.name));
      const [{ partial } = { partial: 0 }] = database.prepare("PRAGMA index_list(t)").all();
      assertEquals(
        [parsed.parts.length, parsed.where !== null],
        [parts.length, partial === 1],
        String(index?.sql),
      );
    } finally {
      database.close();
    }
  },
};

/** Migrations. Each statement of a script is, on its own, the same single statement. */
function scriptTarget(file: string, syntax: SqlSyntax): FuzzTarget {
  return {
    files: ["src/sql/statements/split_statements.ts", file],
    seeds: [
      "CREATE TABLE a (b TEXT DEFAULT 'x;y'); -- c;\nINSERT INTO a VALUES (\"d;\");;",
      "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE WHEN 1 THEN 2 END; DELETE FROM b; END; SELECT 1",
      "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $x$ SELECT ';' $x$; /* a /* b */ ; */ SELECT E'\\';'",
      "CREATE FUNCTION f() BEGIN ATOMIC SELECT 1; END; BEGIN; COMMIT; ROLLBACK TO x",
    ],
    parse: (input) => ({
      statements: splitStatements(input, syntax),
      isBoundary: isTransactionBoundary(input),
    }),
    isDocumented: (error) =>
      error instanceof Error && /^(?:what begins in line|the statement )/.test(error.message),
    check(result, input) {
      // The cast is safe: `parse` returns this type.
      const { statements } = result as { readonly statements: readonly string[] };
      for (const one of statements) assertEquals(splitStatements(one, syntax), [one], input);
      const joined = statements.map((one) => `${one}\n;\n`).join("");
      assertEquals(splitStatements(joined, syntax), statements, input);
    },
  };
}

export const sqliteScriptTarget = scriptTarget("src/engines/sqlite/sql/syntax.ts", sqliteSyntax);
export const postgresScriptTarget = scriptTarget(
  "src/engines/postgres/sql/syntax.ts",
  postgresSyntax,
);

/** Expressions of DDL and definitions of views. */
export const expressionTarget: FuzzTarget = {
  files: [
    "src/db/views/simple_view.ts",
    "src/sql/statements/normal_sql.ts",
    "src/engines/postgres/sql/syntax.ts",
  ],
  // The rest of the expression was copied for each word, parenthesis and cast.
  pumps: [
    { before: "a", piece: " AS b", after: "" },
    { before: "", piece: "(", after: "" },
    { before: "(a", piece: " AND (b >= 1)", after: ")" },
    { before: "a", piece: "::text", after: "" },
  ],
  seeds: [
    "CREATE VIEW v AS SELECT a, t.b AS c, *, lower(d) FROM s.t AS t WHERE a > 1 ORDER BY b",
    "((a)::character varying(20) = ANY (ARRAY['x'::text])) AND (b >= 1)",
    'SELECT "a"."b" FROM "x" a',
  ],
  parse: (input) => ({
    view: parseSimpleView(input),
    sqlite: normalizeSql(input, sqliteSyntax),
    postgres: normalizeSql(input, postgresSyntax),
  }),
  isDocumented: () => false,
};
